#include "graph/passes/splice.h"

#include "graph/ir/shape_rules.h"

namespace tilewright::graph {

NodeId append_like(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands,
                   const Attributes& attributes) {
  return chooses_dtype(node.op)
             ? builder.append(node.op, std::move(operands), attributes, node.dtype)
             : builder.append(node.op, std::move(operands), attributes);
}
NodeId append_like(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
  return append_like(builder, node, std::move(operands), node.attributes);
}

std::vector<NodeId> splice(const Graph& graph, GraphBuilder& builder,
                           const std::vector<NodeId>& inputs) {
  std::vector<NodeId> ids(graph.nodes.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) ids[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (info(node.op).kind == Kind::input) continue;
    std::vector<NodeId> own;
    for (NodeId operand : node.operands) own.push_back(ids[operand]);
    ids[id] = append_like(builder, node, std::move(own));
  }
  return ids;
}

}  // namespace tilewright::graph
