// Composite ops in terms of the others, one function a composite, in the file of its family
// (graph/ops).
//
// Precautions: statistics of f16 and bf16 values are taken in f32 and rounded once at the end;
// softmax subtracts the maximum; variances take two passes.
#pragma once

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// Appends the decomposition of `node` (of kind composite) for the target, applied to `operands`,
// nodes of the builder's graph; gives the nodes of its results, of which there is one at least.
std::vector<NodeId> append_decomposition(GraphBuilder& builder, const Node& node,
                                         const std::vector<NodeId>& operands,
                                         const dsl::Target& target);

}  // namespace tilewright::graph
