#include "graph/custom/elementwise.h"
#include "graph/ops/decompositions.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {

Graph decompose(const Graph& graph, const dsl::Target& target) {
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    GraphBuilder builder = rewriter.builder(node);
    if (info(node.op).kind == Kind::custom) {
      auto result = append_elementwise_kernel(builder, node, rewriter.operands_of(node));
      return result ? std::optional(rewriter.replace(id, std::vector<NodeId>{*result}))
                    : std::nullopt;
    }
    if (info(node.op).kind != Kind::composite) return std::nullopt;
    return rewriter.replace(
        id, append_decomposition(builder, node, rewriter.operands_of(node), target));
  });
}

}  // namespace tilewright::graph
