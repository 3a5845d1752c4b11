#include "graph/derivatives/checkpoints.h"

#include <algorithm>
#include <map>

#include "graph/custom/definition.h"
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
  // Appends the nodes of a graph with these inputs; gives its outputs.
  std::vector<NodeId> add(const Graph& graph, const std::vector<NodeId>& inputs) {
    Graph& to = result_.graph;
    const auto marks = static_cast<MarkId>(to.marks.size());
    to.marks.insert(to.marks.end(), graph.marks.begin(), graph.marks.end());
    std::vector<NodeId> ids(graph.nodes.size());
    std::map<NodeId, std::vector<NodeId>> results;  // of calls
    for (std::size_t i = 0; i < inputs.size(); ++i) ids[graph.inputs[i]] = inputs[i];
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      if (node.op == Op::input) continue;
      if (node.op == Op::result && results.contains(node.operands[0])) {
        ids[id] = results[node.operands[0]][static_cast<std::size_t>(node.attributes.index)];
        continue;
      }
      std::vector<NodeId> operands;
      for (NodeId operand : node.operands) operands.push_back(ids[operand]);
      if (is_checkpoint(node)) {
        results[id] = call(node, operands);
        ids[id] = results[id][0];
        continue;
      }
      Origin origin = node.origin;
      if (origin.mark != 0) origin.mark += marks;
      builder_.set_location(node.where);
      builder_.set_origin(origin);
      ids[id] = append_like(builder_, node, std::move(operands));
    }
    std::vector<NodeId> outputs;
    for (NodeId id : graph.outputs) outputs.push_back(ids[id]);
    return outputs;
  }

  std::vector<NodeId> call(const Node& node, const std::vector<NodeId>& operands) {
    const auto count = [&] { return static_cast<NodeId>(result_.graph.nodes.size()); };
    const Graph function = expand_gradients(*node.attributes.custom->recomputed(target_), target_);
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
