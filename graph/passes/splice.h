// One graph within another: what a formula of a custom op becomes, or a body of control flow that
// is evaluated once more.
#pragma once

#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

// Appends a node of the same op, attributes and dtype, of these operands.
NodeId append_like(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands);
NodeId append_like(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands,
                   const Attributes& attributes);

// Appends the nodes of `graph`, with these for its inputs. Gives, for each of its nodes, the one
// that stands for it.
std::vector<NodeId> splice(const Graph& graph, GraphBuilder& builder,
                           const std::vector<NodeId>& inputs);

}  // namespace tilewright::graph
