#include "graph/derivatives/checkpoints.h"

#include <algorithm>
#include <optional>

#include "graph/custom/definition.h"
#include "graph/derivatives/recorded_loops.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"

namespace tilewright::graph {
namespace {

bool is_checkpoint(const Node& node) {
  const CustomReference& custom = node.attributes.custom;
  return custom.is_defined() && custom->recomputed;
}

class CheckpointInliner {
 public:
  explicit CheckpointInliner(const dsl::Target& target)
      : target_(target), builder_(result_.graph) {}

  CheckpointedGraph run(const Graph& graph) {
    std::vector<NodeId> inputs;
    for (NodeId id : graph.inputs) {
      const Node& node = graph.node(id);
      builder_.set_location(node.where);
      inputs.push_back(builder_.input(node.dtype, node.shape));
    }
    result_.graph.outputs = add(graph, inputs);
    // Segments are added when they end.
    std::ranges::sort(result_.segments, [](const Segment& a, const Segment& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    return std::move(result_);
  }

 private:
  std::vector<NodeId> add(const Graph& graph, const std::vector<NodeId>& inputs) {
    return splice_with_lines(
        graph, builder_, inputs,
        {.results = [&](const Node& node,
                        const std::vector<NodeId>& operands) -> std::optional<std::vector<NodeId>> {
          if (!is_checkpoint(node)) return std::nullopt;
          return call(node, operands);
        }});
  }

  std::vector<NodeId> call(const Node& node, const std::vector<NodeId>& operands) {
    const auto count = [&] { return static_cast<NodeId>(result_.graph.nodes.size()); };
    const Graph function = with_recorded_loops(
        expand_gradients(*node.attributes.custom->recomputed(target_), target_), target_);
    const NodeId begin = count();
    std::vector<NodeId> outputs = add(function, operands);
    if (count() > begin) result_.segments.push_back({begin, count()});
    return outputs;
  }

  const dsl::Target& target_;
  CheckpointedGraph result_;
  GraphBuilder builder_;
};

}  // namespace

CheckpointedGraph with_checkpoints(const Graph& graph, const dsl::Target& target) {
  if (std::ranges::none_of(graph.nodes, is_checkpoint)) return {graph, {}};
  return CheckpointInliner(target).run(graph);
}

}  // namespace tilewright::graph
