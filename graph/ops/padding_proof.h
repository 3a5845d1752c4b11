// Proves that a function computes the same where axes of its arguments are longer than asked for,
// and the results are cut: a call may then be padded to a declared size (SizeRange::buckets).
//
// The function is captured twice, for the sizes of the call and for the padded ones, and the two
// graphs are gone through side by side. For each node one statement is kept:
//
//     the elements of the padded node whose places the given node has too are the given node's
//
// It holds for the arguments, whose padding is behind their elements, and each op either hands it
// on or ends the proof. Pointwise ops hand it on, and so do products along rows, columns and
// batches, reductions along other axes, and causal attention, whose rows see no keys behind their
// own. A sum over a padded axis does not; neither does a slice that begins at the last element, or
// a number that follows from the size, since the two graphs then differ in more than sizes.
//
//     rows [5, 64] for [8, 64]:   softmax over 64: rows 0 to 4 are the same       proved
//                                 mean over axis 0: 8 rows and not 5              an obstacle
//
// Reshapes join axes and part them: [2, 5, 64] for [2, 8, 64] as a list of rows [10, 64] for
// [16, 64], whose first 10 are not the given ones. So an axis is a list of factors, the outermost
// first, each with the size given and the one padded: here (2, 2) and (5, 8). Factors that are not
// padded and stand side by side are one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct PaddingProof {
  std::string obstacle;        // "sum at model.cpp:12: it goes over a padded axis"; empty: none
  std::vector<Shape> results;  // of the graph's outputs, as the call wants them
  // The obstacle's node of the captured graph, and the obstacle without the line; none: it is about
  // the whole function.
  std::optional<NodeId> node = {};
  std::string operation = {}, reason = {};
};

// Two captures of one function, of which one has longer axes. `reads_same(i)` says whether input i,
// which is not an argument, begins at the same address in both.
PaddingProof prove_padding(const Graph& given, const Graph& padded, std::size_t arguments,
                           const std::function<bool(std::size_t)>& reads_same);

}  // namespace tilewright::graph
