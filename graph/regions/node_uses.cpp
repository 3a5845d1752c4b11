#include "graph/regions/node_uses.h"

#include <algorithm>

namespace tilewright::graph {

namespace {

bool changes_operand(const Node& node) {
  return updates_rows(info(node.op).kind) || node.attributes.custom.changes_operand();
}

}  // namespace

NodeUses::NodeUses(const Graph& graph)
    : last_use_(graph.nodes.size(), 0),
      in_place_(graph.nodes.size(), false),
      only_scattered_(graph.nodes.size(), false),
      mutation_(graph.nodes.size()),
      whole_(graph.nodes.size()) {
  for (const Mutation& m : graph.mutations) mutation_[m.input] = m.value;
  find_last_uses(graph);
  find_scattered(graph);
  find_wholes(graph);
  find_in_place(graph);
  find_loops(graph);
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

// Through views, and through parts of a cat that the scatter writes itself.
bool NodeUses::is_read_as_written(const Graph& graph, NodeId value, NodeId input) const {
  while (is_kind(graph, value, Kind::view)) value = graph.node(value).operands[0];
  if (only_scattered_[value])
    return std::ranges::any_of(graph.node(value).operands,
                               [&](NodeId part) { return is_read_as_written(graph, part, input); });
  return value == input || changes_operand(graph.node(value));
}

void NodeUses::find_in_place(const Graph& graph) {
  for (const Mutation& m : graph.mutations) {
    std::vector<NodeId> chain;
    NodeId id = m.value;
    while (changes_operand(graph.node(id))) {
      chain.push_back(id);
      id = graph.node(id).operands[0];
    }
    bool legal = id == m.input;
    for (NodeId link : chain) legal = legal && last_use_[graph.node(link).operands[0]] <= link;
    // A link may read the old value as its operand 0 only.
    for (NodeId link : chain) {
      const auto& operands = graph.node(link).operands;
      for (std::size_t i = 1; i < operands.size(); ++i)
        legal = legal && !is_read_as_written(graph, operands[i], m.input);
    }
    if (!legal) continue;
    for (NodeId link : chain) in_place_[link] = true;
  }
}

// Inputs that a scan carries and that are to hold what it leaves, if nothing else reads them from
// its first turn on.
void NodeUses::find_loops(const Graph& graph) {
  for (const Mutation& m : graph.mutations) {
    const Node& value = graph.node(m.value);
    const bool is_first = value.op != Op::result;
    const NodeId loop = is_first ? m.value : value.operands[0];
    const Node& scan = graph.node(loop);
    const auto number = static_cast<std::size_t>(is_first ? 0 : value.attributes.index);
    if (scan.op != Op::scan || std::cmp_greater_equal(number, scan.attributes.carried)) continue;
    bool legal = scan.operands[number] == m.input && last_use_[m.input] <= loop;
    for (std::size_t i = 0; i < scan.operands.size(); ++i)
      legal = legal && (i == number || !is_read_as_written(graph, scan.operands[i], m.input));
    if (!legal) continue;
    in_place_[m.value] = true;
    updated_.emplace(loop, number);
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

void NodeUses::find_wholes(const Graph& graph) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!is_kind(graph, id, Kind::concat) || only_scattered_[id]) continue;
    for (NodeId part : graph.node(id).operands)
      if (is_kind(graph, part, Kind::concat) && !whole_[part]) whole_[part] = id;
  }
  auto keep_apart = [&](NodeId id) { whole_[id].reset(); };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const bool may_share = is_kind(graph, id, Kind::concat) || graph.node(id).op == Op::slice;
    if (!may_share) std::ranges::for_each(graph.node(id).operands, keep_apart);
  }
  std::ranges::for_each(graph.outputs, keep_apart);
  for (const Mutation& m : graph.mutations) keep_apart(m.value);
}

bool is_sum_of_turns(const Node& loop, std::size_t carried) {
  if (loop.op != Op::scan || std::cmp_greater_equal(carried, loop.attributes.carried)) return false;
  const Graph& body = loop.attributes.bodies[0];
  const NodeId before = body.inputs[carried], after = body.outputs[carried];
  const Node& sum = body.node(after);
  if (sum.op != Op::add || element_count(sum.shape) == 0) return false;
  std::int64_t reads = std::ranges::count(body.outputs, before);
  for (const Node& node : body.nodes) reads += std::ranges::count(node.operands, before);
  return reads == 1 && std::ranges::count(sum.operands, before) == 1;
}

}  // namespace tilewright::graph
