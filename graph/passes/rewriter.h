// Copying a graph while replacing some of its nodes: what every graph pass is made of.
//
// Nodes are visited in order. For each the pass says which node of the new graph stands for it, or
// nothing, and then it is copied. Inputs are always copied, so that the call's arguments keep their
// places even where nothing uses them. For a node with several results a pass says what stands for
// each of them, or one node that has them all; projections follow.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

class Rewriter {
 public:
  explicit Rewriter(const Graph& from) : from_(from), stand_in_(from.nodes.size()) {
    to_.nodes.reserve(from.nodes.size());
    to_.marks = from.marks;  // before those of graphs that replace nodes
  }
  const Graph& from() const { return from_; }
  const Node& made(NodeId id) const { return to_.node(id); }  // a node of the new graph

  // The node of the new graph that stands for `old`.
  NodeId at(NodeId old) const { return stand_in_[old]; }
  std::vector<NodeId> operands_of(const Node& old) const {
    std::vector<NodeId> operands;
    for (NodeId operand : old.operands) operands.push_back(at(operand));
    return operands;
  }
  // A builder whose nodes carry the source line and the origin of `old`.
  GraphBuilder builder(const Node& old) {
    GraphBuilder builder(to_);
    builder.set_location(old.where);
    builder.set_origin(old.origin);
    return builder;
  }
  void replace(NodeId old, NodeId now) { stand_in_[old] = now; }
  // By a node for each result; gives that of result 0.
  NodeId replace(NodeId old, std::vector<NodeId> results) {
    replace(old, results.front());
    if (results.size() > 1) results_[old] = std::move(results);
    return at(old);
  }
  // What stands for a projection whose operand was replaced result by result.
  std::optional<NodeId> replaced_result(const Node& old) const {
    if (info(old.op).kind != Kind::projection) return std::nullopt;
    auto found = results_.find(old.operands[0]);
    if (found == results_.end()) return std::nullopt;
    return found->second[static_cast<std::size_t>(old.attributes.index)];
  }
  NodeId copy(NodeId old) {
    Node node = from_.node(old);
    for (NodeId& operand : node.operands) operand = at(operand);
    to_.nodes.push_back(std::move(node));
    return stand_in_[old] = static_cast<NodeId>(to_.nodes.size() - 1);
  }
  // A node whose operands are nodes of the new graph.
  NodeId append(Node node) {
    to_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(to_.nodes.size() - 1);
  }
  // Which result of its operand a projection of the new graph reads.
  void set_index(NodeId projection, std::int64_t index) {
    to_.nodes[projection].attributes.index = index;
  }
  Graph finish() {
    for (NodeId id : from_.inputs) to_.inputs.push_back(at(id));
    for (NodeId id : from_.outputs) to_.outputs.push_back(at(id));
    for (const Mutation& m : from_.mutations) to_.mutations.push_back({at(m.input), at(m.value)});
    to_.input_strides = from_.input_strides;
    return std::move(to_);
  }

 private:
  const Graph& from_;
  Graph to_;
  std::vector<NodeId> stand_in_;
  std::map<NodeId, std::vector<NodeId>> results_;  // of old nodes that were replaced by several
};

// The graph with every node for which `replacement(rewriter, id)` gives a node replaced by it.
template <typename F>
Graph rewrite(const Graph& from, F&& replacement) {
  Rewriter rewriter(from);
  for (NodeId id = 0; id < from.nodes.size(); ++id) {
    std::optional<NodeId> now = rewriter.replaced_result(from.node(id));
    if (!now && from.node(id).op != Op::input) now = replacement(rewriter, id);
    if (now)
      rewriter.replace(id, *now);
    else
      rewriter.copy(id);
  }
  return rewriter.finish();
}

}  // namespace tilewright::graph
