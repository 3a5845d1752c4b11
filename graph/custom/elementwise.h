// Programs of the tile language that work on single elements, as nodes of the graph.
//
// An elementwise function fuses with its neighbours because it becomes pointwise ops. So does a
// kernel that its structure shows to be such a function: each program of the grid loads its own
// elements of each operand, and stores one result there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dsl/ir/function.h"
#include "graph/custom/definition.h"

namespace tilewright::graph {

// The node of an elementwise instruction or a constant, whose operands have these nodes, all of the
// shape. Nothing where graphs have no such operation.
std::optional<NodeId> append_elementwise(GraphBuilder& builder, const ir::Function& function,
                                         const ir::Inst& inst, std::vector<NodeId> operands,
                                         const Shape& shape);

// The result of a `custom` node as pointwise nodes, if that is what its kernel computes: nothing
// where it is another kernel, or C++, or where operands and the result are not of one shape.
std::optional<NodeId> append_elementwise_kernel(GraphBuilder& builder, const Node& node,
                                                const std::vector<NodeId>& operands);

}  // namespace tilewright::graph
