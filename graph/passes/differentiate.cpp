// Expands gradients (graph/functions/differentiating): after attention was formed, so that the
// function and its derivative see it as one, and while composites are whole.
#include "graph/custom/definition.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {

namespace {

Graph expanded(const Graph& graph, const dsl::Target& target, bool keeps_checkpoints) {
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    const CustomReference& custom = node.attributes.custom;
    if (!custom.is_defined() || !custom->is_gradient) return std::nullopt;
    if (keeps_checkpoints && custom->recomputed) return std::nullopt;
    GraphBuilder builder = rewriter.builder(node);
    const auto first = static_cast<NodeId>(builder.graph().nodes.size());
    std::vector<NodeId> results = custom->composites(builder, rewriter.operands_of(node), target);
    // Each has a word and a line of its own, within the region that the gradient is written in,
    // except for values that are computed again.
    for (NodeId made = first; made < builder.graph().nodes.size(); ++made) {
      Origin& origin = builder.graph().nodes[made].origin;
      if (origin.mark == 0) origin.mark = node.origin.mark;
      origin.node = node.origin.node;
    }
    return rewriter.replace(id, std::move(results));
  });
}

}  // namespace

Graph differentiate(const Graph& graph, const dsl::Target& target) {
  return expanded(graph, target, false);
}
Graph expand_gradients(const Graph& graph, const dsl::Target& target) {
  return expanded(graph, target, true);
}

}  // namespace tilewright::graph
