#include "graph/passes/splice.h"

#include <map>

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

std::vector<NodeId> splice_with_lines(const Graph& graph, GraphBuilder& builder,
                                      const std::vector<NodeId>& inputs, const SpliceHooks& hooks) {
  std::vector<std::string>& names = builder.graph().marks;
  const auto marks = static_cast<MarkId>(names.size());
  if (!hooks.mark) names.insert(names.end(), graph.marks.begin(), graph.marks.end());
  std::vector<NodeId> ids(graph.nodes.size());
  std::map<NodeId, std::vector<NodeId>> replaced;  // results, by node
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) ids[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    if (node.op == Op::result && replaced.contains(node.operands[0])) {
      ids[id] = replaced[node.operands[0]][static_cast<std::size_t>(node.attributes.index)];
      continue;
    }
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands) operands.push_back(ids[operand]);
    Origin origin = node.origin;
    if (hooks.mark)
      origin.mark = hooks.mark(id);
    else if (origin.mark != 0)
      origin.mark += marks;
    builder.set_location(node.where);
    builder.set_origin(origin);
    if (auto results = hooks.results ? hooks.results(node, operands) : std::nullopt) {
      ids[id] = results->front();
      replaced[id] = std::move(*results);
      continue;
    }
    ids[id] = append_like(builder, node, std::move(operands));
  }
  std::vector<NodeId> outputs;
  for (NodeId id : graph.outputs) outputs.push_back(ids[id]);
  return outputs;
}

}  // namespace tilewright::graph
