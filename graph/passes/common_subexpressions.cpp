#include <algorithm>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

bool is_commutative(Op op) {
  auto tile_op = info(op).tile_op;
  return tile_op && ir::info(*tile_op).has(ir::commutative);
}

// A marked region computes what it needs itself, so that those of equal structure stay equal;
// constants are no work.
MarkId mark_of(const Node& node) {
  return info(node.op).kind == Kind::constant ? 0 : node.origin.mark;
}

// The operands of a node as far as its value goes: commutative ones sorted.
std::vector<NodeId> unordered(Op op, std::vector<NodeId> operands) {
  if (is_commutative(op)) std::ranges::sort(operands);
  return operands;
}

// Whether a node of the new graph has the value of `node`, which has these operands there.
bool is_same(const Node& made, const Node& node, const std::vector<NodeId>& operands) {
  if (made.op != node.op || made.dtype != node.dtype || made.shape != node.shape ||
      made.others != node.others || made.attributes != node.attributes ||
      mark_of(made) != mark_of(node))
    return false;
  return unordered(made.op, made.operands) == operands;
}

std::uint64_t hash_of(const Node& node, const std::vector<NodeId>& operands) {
  Hasher hasher;
  hasher.add(node.op).add(operands).add(node.dtype).add(node.shape);
  add_attributes(hasher, node.attributes);
  return hasher.finish().low;
}

}  // namespace

Graph common_subexpressions(const Graph& graph) {
  std::unordered_multimap<std::uint64_t, NodeId> seen;  // nodes of the new graph
  seen.reserve(graph.nodes.size());
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    const std::vector<NodeId> operands = unordered(node.op, rewriter.operands_of(node));
    const std::uint64_t hash = hash_of(node, operands);
    auto [first, last] = seen.equal_range(hash);
    for (auto entry = first; entry != last; ++entry)
      if (is_same(rewriter.made(entry->second), node, operands)) return entry->second;
    const NodeId made = rewriter.copy(id);
    seen.emplace(hash, made);
    return made;
  });
}

}  // namespace tilewright::graph
