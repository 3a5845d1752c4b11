// What of a graph follows from frozen inputs alone, split from the rest.
//
// A weight that nobody writes any more (Options::freezing) makes more than itself constant: the
// factors of a batch norm, filters that a program stores in 8 bits and converts before each
// convolution, a weight that is normed, a table that is gathered from another one. Such values need
// not be computed at each call. They become inputs of the rest, and a graph of their own gives
// them.
//
// It pays for some only. A value that is small is always worth its memory. A large one that is
// added or gathered from is fused into what reads it and costs next to nothing; one that is
// multiplied is worth it where it takes no more memory than what it is computed from: weights of 8
// bits, say, are multiplied as they are stored, which is why they are so. Filters of convolutions
// are worth it always, since convolutions read them packed, and would convert and pack them at each
// call. What is kept is kept whole: lowerings know how quantised weights are written.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct FrozenPart {
  Graph rest;                     // its inputs: those of the graph, then the outputs of `values`
  Graph values;                   // each is row-major
  std::vector<std::size_t> from;  // of its inputs, which one of the graph each is
};

// `is_frozen` is indexed like Graph::inputs; one that the graph writes is none. The graph is one of
// primitive ops. Nothing, where nothing is worth it. Values in `worth` are taken whatever they
// cost.
std::optional<FrozenPart> split_frozen_part(const Graph& graph, const std::vector<bool>& is_frozen,
                                            const std::vector<NodeId>& worth = {});
// True if the body of control flow multiplies what this input is, or views of it.
bool is_multiplied(const Graph& body, std::size_t input);
// True for each node that follows from frozen inputs, or is one.
std::vector<bool> follows_from_frozen(const Graph& graph, const std::vector<bool>& is_frozen);

}  // namespace tilewright::graph
