// Random valid graphs with inputs, for tests of passes, fusion and generated code by property.
//
// Graphs have 1 to 40 nodes over small shapes (1s, primes, powers of two and their neighbours) and
// all kinds of ops; inputs may lie in memory in another order than row-major. Each node is
// evaluated with its error bound as it is added, and dropped again where it overflows, loses its
// accuracy or makes a decision that rounding could change. The same seed gives the same graph on
// any machine. A graph may also be had at several sizes, to see what sizes that change do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/ir/evaluate.h"
#include "tests/property/named_sizes.h"

namespace tilewright::graph {

struct RandomGraph {
  Graph graph;
  std::vector<HostTensor> inputs;
};

RandomGraph random_graph(std::uint64_t seed);
// One graph with axes of named sizes, in inputs above all, at each of these sizes: the same ops,
// and attributes and shapes that differ by the names alone.
std::vector<RandomGraph> random_graph_at(std::uint64_t seed, std::span<const NamedSizes> sizes);

// Puts marks on stretches of the nodes, and leaves others without one, as a captured function does
// that calls marked regions.
void mark_at_random(Graph& graph, std::uint64_t seed);

}  // namespace tilewright::graph
