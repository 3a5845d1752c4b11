#include "graph/passes/splice.h"

#include "graph/ir/shape_rules.h"

namespace tilewright::graph {

std::vector<NodeId> splice(const Graph& graph, GraphBuilder& builder,
                           const std::vector<NodeId>& inputs) {
  std::vector<NodeId> ids(graph.nodes.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) ids[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (info(node.op).kind == Kind::input) continue;
    std::vector<NodeId> own;
    for (NodeId operand : node.operands) own.push_back(ids[operand]);
    ids[id] = chooses_dtype(node.op) ? builder.append(node.op, own, node.attributes, node.dtype)
                                     : builder.append(node.op, own, node.attributes);
  }
  return ids;
}

}  // namespace tilewright::graph
