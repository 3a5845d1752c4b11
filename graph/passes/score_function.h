// Functions of attention's scores, read from what was written between a product and a softmax: any
// elementwise ops, of the scores, of where they stand, and of whatever else has an element for each
// of them. They become the function that one op carries (ops/attention_operands.h), so that neither
// the scores nor what is computed from their places lie in memory.
//
// What follows from places is computed from them, element by element; of the rest an operand is
// made where it does not differ from row to row, or from key to key, or is no elementwise op.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/passes/affine_form.h"

namespace tilewright::graph {

// Axes of `from`, which `to` is but for axes of size 1, by what those of `to` are; -1 for those of
// size 1. Nothing where `to` is of other axes.
std::optional<std::vector<int>> axes_before(const Shape& from, const Shape& to,
                                            const std::vector<int>& axes);

// A value that a function of scores reads, and which axes of the scores its own are; -1: none, of
// size 1.
struct ScoreReading {
  NodeId id;
  std::vector<int> axes;
};
struct ScoreFunction {
  Graph body;
  std::vector<ScoreReading> readings;  // of the inputs from ScoreInputs::operands on
};

// The function that makes `result` of `scores`, of shape `sizes`, in the dtype `carried`; `axes` of
// `result`. `uses`: how many read each node; nobody else may read what is made of scores. Nothing
// where it is no such function, or too long.
std::optional<ScoreFunction> read_score_function(const Graph& graph, const AffineForms& forms,
                                                 const std::vector<int>& uses, NodeId scores,
                                                 NodeId result, std::vector<int> axes,
                                                 const Shape& sizes, DType carried);

// The nodes between `result` and what it is made of by elementwise ops and views alone, `result`
// first; where these are too many, only some.
std::vector<NodeId> elementwise_sources(const Graph& graph, NodeId result);

}  // namespace tilewright::graph
