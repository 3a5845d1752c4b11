// Rules of derivatives that are functions of tensors: those of functions and ops that need sorts,
// convolutions or loops, which the rules of ops (graph/ops/derivatives) do not see. They are
// captured, and become nodes of the graph that is being made.
#pragma once

#include <functional>
#include <vector>

#include "graph/ops/derivatives/differential.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Symbolic tensors; a cotangent is undefined where none flows.
struct RuleOperands {
  std::vector<Tensor> operands, results, cotangents;
};
// Gives a cotangent for each operand, undefined where none is wanted or flows. It uses no tensors
// besides these, and writes nothing.
using CapturedRule = std::function<std::vector<Tensor>(const RuleOperands& given)>;
Cotangents captured_rule(const Differential& d, const CapturedRule& rule);

}  // namespace tilewright::graph
