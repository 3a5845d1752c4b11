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
constexpr std::size_t most_of_choice = 8;

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
    return if_shared(std::move(needed), most_nodes);
  }

  // The same of a choice by itself.
  std::set<NodeId> shared_with_other_choices(NodeId choice) {
    std::set<NodeId> needed;
    const Node& node = graph_.node(choice);
    if (!is_gather_of_numbers(base(node.operands[1]))) collect(node.operands[0], needed);
    return if_shared(std::move(needed), most_of_choice);
  }

  bool is_gather_of_numbers(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.op == Op::embedding && graph_.node(node.operands[0]).shape[1] == 1;
  }

 private:
  std::set<NodeId> if_shared(std::set<NodeId> needed, std::size_t most) {
    const bool is_shared =
        std::ranges::any_of(needed, [&](NodeId id) { return bool{is_used_[id]}; });
    for (NodeId id : needed) is_used_[id] = true;
    if (!is_shared || needed.size() > most) needed.clear();
    return needed;
  }

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
    std::set<NodeId> shared;
    if (numbers.is_gather_of_numbers(id)) shared = numbers.shared_with_others(id);
    if (graph.node(id).op == Op::where) shared = numbers.shared_with_other_choices(id);
    for (NodeId needed : shared) rewriter.copy(needed);
    return std::nullopt;
  });
}

}  // namespace tilewright::graph
