// What single elements are gathered by, where it follows from their places alone, is computed by
// each gather, and so is the condition under which one counts. The numbers of what a convolution's
// windows meet are equal in all layers of one size; as values of their own they would be written
// and read for less work than that takes, and programs would not know that they lie side by side.
#include <algorithm>
#include <set>
#include <vector>

#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

constexpr std::size_t most_nodes = 64;  // of one gather; more is no little work

class Numbers {
 public:
  explicit Numbers(const Graph& graph)
      : graph_(graph), follow_(graph.nodes.size()), is_used_(graph.nodes.size()) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      const Kind kind = info(node.op).kind;
      follow_[id] = !is_floating(node.dtype) && node.op != Op::random_bits &&
                    (kind == Kind::constant || kind == Kind::pointwise || kind == Kind::view) &&
                    std::ranges::all_of(node.operands, [&](NodeId x) { return follow_[x]; });
      if (node.op == Op::where) conditions_.emplace(base(node.operands[1]), node.operands[0]);
    }
  }

  // What the gather and the choice behind it need, if others before it have needed it too.
  std::set<NodeId> shared_with_others(NodeId gather) {
    std::set<NodeId> needed;
    collect(graph_.node(gather).operands[1], needed);
    const auto [first, last] = conditions_.equal_range(gather);
    std::for_each(first, last, [&](const auto& found) {
      if (found.second < gather) collect(found.second, needed);
    });
    const bool is_shared =
        std::ranges::any_of(needed, [&](NodeId id) { return bool{is_used_[id]}; });
    for (NodeId id : needed) is_used_[id] = true;
    if (!is_shared || needed.size() > most_nodes) needed.clear();
    return needed;
  }

 private:
  // What it is a view of.
  NodeId base(NodeId id) const {
    while (info(graph_.node(id).op).kind == Kind::view) id = graph_.node(id).operands[0];
    return id;
  }
  void collect(NodeId id, std::set<NodeId>& needed) const {
    const Node& node = graph_.node(id);
    if (!follow_[id] || info(node.op).kind == Kind::constant || !needed.insert(id).second) return;
    for (NodeId operand : node.operands) collect(operand, needed);
  }

  const Graph& graph_;
  std::vector<bool> follow_;                  // integers that follow from places alone
  std::vector<bool> is_used_;                 // by a gather that was looked at
  std::multimap<NodeId, NodeId> conditions_;  // of choices, by what is chosen
};

}  // namespace

Graph repeat_numbers(const Graph& graph) {
  Numbers numbers(graph);
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    if (node.op == Op::embedding && graph.node(node.operands[0]).shape[1] == 1)
      for (NodeId needed : numbers.shared_with_others(id)) rewriter.copy(needed);
    return std::nullopt;
  });
}

}  // namespace tilewright::graph
