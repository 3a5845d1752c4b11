// Random valid graphs with inputs, for tests of passes, fusion and generated code by property.
//
// Graphs have 1 to 40 nodes over small shapes (1s, primes, powers of two and their neighbours) and
// all kinds of ops; inputs may lie in memory in another order than row-major. Each node is
// evaluated with its error bound as it is added, and dropped again where it overflows, loses its
// accuracy or makes a decision that rounding could change. The same seed gives the same graph on
// any machine.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/evaluate.h"

namespace tilewright::graph {

struct RandomGraph {
  Graph graph;
  std::vector<HostTensor> inputs;
};

RandomGraph random_graph(std::uint64_t seed);

// Puts marks on stretches of the nodes, and leaves others without one, as a captured function does
// that calls marked regions.
void mark_at_random(Graph& graph, std::uint64_t seed);

}  // namespace tilewright::graph
