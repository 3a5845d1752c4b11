#include "graph/ir/decompositions.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {

Graph decompose(const Graph& graph) {
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    if (info(node.op).kind != Kind::composite) return std::nullopt;
    GraphBuilder builder = rewriter.builder(node);
    return rewriter.replace(id, append_decomposition(builder, node, rewriter.operands_of(node)));
  });
}

}  // namespace tilewright::graph
