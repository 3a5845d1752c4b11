// A loss that is computed row by row, and the gradients that a derivative computes from the same
// rows, become one call: linear_cross_entropy_gradient (functions/linear_cross_entropy.h) gives
// both, and its turns compute each logit once.
//
// Changes: where the cotangent of a linear_cross_entropy does not depend on its losses, the call of
//          its gradient stands where that of the losses did, before their readers; and what it
//          reads before it.
// Before:  gradients are expanded, and composites are whole.
// After:   as before; no value changes but by the order of sums.
#include <algorithm>
#include <string_view>

#include "graph/custom/definition.h"
#include "graph/passes/passes.h"

namespace tilewright::graph {
namespace {

bool is_call(const Node& node, std::string_view function) {
  const CustomReference& custom = node.attributes.custom;
  return custom.is_defined() && !custom->settings.empty() && custom.name() == function;
}

// The gradient's operands are those of the losses and a cotangent.
bool is_gradient_of(const Node& gradient, const Node& losses) {
  return is_call(gradient, "linear_cross_entropy_gradient") &&
         gradient.operands.size() == losses.operands.size() + 1 &&
         std::ranges::equal(losses.operands,
                            std::span(gradient.operands).first(losses.operands.size())) &&
         gradient.attributes.custom->settings == losses.attributes.custom->settings;
}

bool depends(const Graph& graph, NodeId value, NodeId on) {
  std::vector<bool> follows(graph.nodes.size());
  follows[on] = true;
  for (NodeId id = on + 1; id <= value; ++id)
    follows[id] = std::ranges::any_of(graph.node(id).operands,
                                      [&](NodeId operand) { return follows[operand]; });
  return follows[value];
}

// The nodes in an order in which the gradient, with what it is computed from, comes at the place of
// the losses.
std::vector<NodeId> order_of(const Graph& graph, NodeId losses, NodeId gradient) {
  std::vector<bool> is_early(gradient + 1);
  is_early[gradient] = true;
  for (NodeId id = gradient + 1; id-- > losses;)
    if (is_early[id])
      for (NodeId operand : graph.node(id).operands) is_early[operand] = true;
  std::vector<NodeId> order;
  auto append = [&](NodeId from, NodeId to, auto&& belongs) {
    for (NodeId id = from; id < to; ++id)
      if (belongs(id)) order.push_back(id);
  };
  append(0, losses, [](NodeId) { return true; });
  append(losses + 1, gradient + 1, [&](NodeId id) { return is_early[id]; });
  append(losses + 1, gradient, [&](NodeId id) { return !is_early[id]; });
  append(gradient + 1, static_cast<NodeId>(graph.nodes.size()), [](NodeId) { return true; });
  return order;
}

Graph joined(const Graph& graph, NodeId losses, NodeId gradient) {
  Graph result;
  result.marks = graph.marks;
  result.input_strides = graph.input_strides;
  std::vector<NodeId> now(graph.nodes.size());
  for (NodeId id : order_of(graph, losses, gradient)) {
    Node node = graph.node(id);
    for (NodeId& operand : node.operands) operand = now[operand];
    now[id] = static_cast<NodeId>(result.nodes.size());
    result.nodes.push_back(std::move(node));
    if (id == gradient) now[losses] = now[gradient];
  }
  for (NodeId id : graph.inputs) result.inputs.push_back(now[id]);
  for (NodeId id : graph.outputs) result.outputs.push_back(now[id]);
  for (const Mutation& m : graph.mutations)
    result.mutations.push_back({now[m.input], now[m.value]});
  return result;
}

}  // namespace

Graph join_losses(const Graph& graph) {
  for (NodeId losses = 0; losses < graph.nodes.size(); ++losses) {
    if (!is_call(graph.node(losses), "linear_cross_entropy")) continue;
    for (NodeId id = losses + 1; id < graph.nodes.size(); ++id)
      if (is_gradient_of(graph.node(id), graph.node(losses)) && !depends(graph, id, losses))
        return join_losses(joined(graph, losses, id));
  }
  return graph;
}

}  // namespace tilewright::graph
