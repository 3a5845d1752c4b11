#include "dsl/ir/immediates.h"
#include "graph/passes/known_range.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

// The bound that a clamp leaves alone, if it is known to.
std::optional<NodeId> other_than_bound(const Node& node, KnownRanges& ranges) {
  if (!is_integer(node.dtype) || (bit_width(node.dtype) == 64 && !is_signed(node.dtype)))
    return std::nullopt;
  const KnownRange a = ranges.of(node.operands[0]), b = ranges.of(node.operands[1]);
  const std::size_t less = a.greatest <= b.least ? 0 : 1;
  if (less == 1 && b.greatest > a.least) return std::nullopt;
  return node.operands[node.op == Op::minimum ? less : 1 - less];
}

}  // namespace

Graph decide_by_ranges(const Graph& graph) {
  KnownRanges ranges(graph);
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    if (node.op == Op::where) {
      const std::optional<bool> chosen = ranges.truth_of(node.operands[0]);
      return chosen ? std::optional(rewriter.at(node.operands[*chosen ? 1 : 2])) : std::nullopt;
    }
    if (node.op == Op::minimum || node.op == Op::maximum) {
      const std::optional<NodeId> left = other_than_bound(node, ranges);
      return left ? std::optional(rewriter.at(*left)) : std::nullopt;
    }
    if (!is_boolean(node.dtype) || info(node.op).kind != Kind::pointwise) return std::nullopt;
    const std::optional<bool> truth = ranges.truth_of(id);
    if (!truth) return std::nullopt;
    return rewriter.builder(node).full(node.shape, ir::Scalar::of_integer(DType::boolean, *truth));
  });
}

}  // namespace tilewright::graph
