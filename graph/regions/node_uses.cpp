#include "graph/regions/node_uses.h"

#include <algorithm>

namespace tilewright::graph {

NodeUses::NodeUses(const Graph& graph)
    : last_use_(graph.nodes.size(), 0),
      in_place_(graph.nodes.size(), false),
      only_scattered_(graph.nodes.size(), false),
      mutation_(graph.nodes.size()) {
  for (const Mutation& m : graph.mutations) mutation_[m.input] = m.value;
  find_last_uses(graph);
  find_in_place(graph);
  find_scattered(graph);
}

void NodeUses::find_last_uses(const Graph& graph) {
  auto past_end = static_cast<NodeId>(graph.nodes.size());
  for (NodeId id : graph.outputs) last_use_[id] = past_end;
  for (const Mutation& m : graph.mutations) last_use_[m.value] = past_end;
  for (NodeId id = past_end; id-- > 0;) {
    // A view has no time of its own: its operand is used when the view is.
    NodeId used = is_kind(graph, id, Kind::view) ? last_use_[id] : id;
    for (NodeId operand : graph.node(id).operands)
      last_use_[operand] = std::max(last_use_[operand], used);
  }
}

void NodeUses::find_in_place(const Graph& graph) {
  for (const Mutation& m : graph.mutations) {
    std::vector<NodeId> chain;
    NodeId id = m.value;
    while (is_kind(graph, id, Kind::scatter)) {
      chain.push_back(id);
      id = graph.node(id).operands[0];
    }
    bool legal = id == m.input;
    for (NodeId link : chain) legal = legal && last_use_[graph.node(link).operands[0]] <= link;
    // A link may read the old value as its operand 0 only.
    for (NodeId link : chain) {
      const auto& operands = graph.node(link).operands;
      for (std::size_t i = 1; i < operands.size(); ++i) {
        NodeId root = operands[i];
        while (is_kind(graph, root, Kind::view)) root = graph.node(root).operands[0];
        legal = legal && root != m.input && !is_kind(graph, root, Kind::scatter);
      }
    }
    if (!legal) continue;
    for (NodeId link : chain) in_place_[link] = true;
  }
}

void NodeUses::find_scattered(const Graph& graph) {
  std::vector<int> uses(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes)
    for (NodeId operand : node.operands) ++uses[operand];
  for (NodeId id : graph.outputs) ++uses[id];
  for (const Mutation& m : graph.mutations) ++uses[m.value];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!is_kind(graph, id, Kind::scatter)) continue;
    NodeId source = graph.node(id).operands[2];
    only_scattered_[source] =
        is_kind(graph, source, Kind::concat) && uses[source] == 1 &&
        graph.node(source).attributes.axes[0] != graph.node(id).attributes.axes[0];
  }
}

}  // namespace tilewright::graph
