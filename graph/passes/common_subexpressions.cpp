#include <algorithm>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

// The node as far as its value goes: operands in the new graph, commutative ones sorted. A marked
// region computes what it needs itself, so that those of equal structure stay equal; constants are
// no work.
Node signature(const Rewriter& rewriter, const Node& node) {
  const bool is_constant = info(node.op).kind == Kind::constant;
  Node result{.op = node.op,
              .operands = rewriter.operands_of(node),
              .dtype = node.dtype,
              .shape = node.shape,
              .attributes = node.attributes,
              .where = {},
              .origin = {.mark = is_constant ? 0 : node.origin.mark},
              .others = node.others};
  auto tile_op = info(node.op).tile_op;
  if (tile_op && ir::info(*tile_op).has(ir::commutative)) std::ranges::sort(result.operands);
  return result;
}
bool equal(const Node& a, const Node& b) {
  return a.op == b.op && a.operands == b.operands && a.type() == b.type() &&
         a.attributes == b.attributes && a.origin.mark == b.origin.mark;
}
std::uint64_t hash_of(const Node& node) {
  Hasher hasher;
  hasher.add(node.op).add(node.operands).add(node.dtype).add(node.shape);
  add_attributes(hasher, node.attributes);
  return hasher.finish().low;
}

}  // namespace

Graph common_subexpressions(const Graph& graph) {
  std::unordered_multimap<std::uint64_t, std::pair<Node, NodeId>> seen;
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    Node key = signature(rewriter, graph.node(id));
    std::uint64_t hash = hash_of(key);
    auto [first, last] = seen.equal_range(hash);
    for (auto entry = first; entry != last; ++entry)
      if (equal(entry->second.first, key)) return entry->second.second;
    NodeId made = rewriter.copy(id);
    seen.emplace(hash, std::pair(std::move(key), made));
    return made;
  });
}

}  // namespace tilewright::graph
