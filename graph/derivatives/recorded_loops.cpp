#include "graph/derivatives/recorded_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/custom/definition.h"
#include "graph/passes/splice.h"

namespace tilewright::graph {
namespace {

bool is_function(const Node& node) {
  const CustomReference& custom = node.attributes.custom;
  return node.op == Op::custom_formula && custom.is_defined() && custom->composites &&
         !custom->derivative && !custom->is_gradient && !custom->recomputed &&
         !custom->stops_gradient;
}

bool is_loop(const Node& node) { return node.op == Op::scan || node.op == Op::while_loop; }

class LoopRecorder {
 public:
  LoopRecorder(const Graph& graph, const dsl::Target& target) : graph_(graph), target_(target) {}

  // Absent: there is nothing to replace.
  std::optional<Graph> run() {
    if (std::ranges::none_of(graph_.nodes, [&](const Node& node) { return records_loop(node); }))
      return std::nullopt;
    Graph result;
    GraphBuilder builder(result);
    std::vector<NodeId> inputs;
    for (NodeId id : graph_.inputs) {
      const Node& node = graph_.node(id);
      builder.set_location(node.where);
      builder.set_origin(node.origin);
      inputs.push_back(builder.input(node.dtype, node.shape));
    }
    result.outputs = splice_with_lines(
        graph_, builder, inputs,
        {.results = [&](const Node& node,
                        const std::vector<NodeId>& operands) -> std::optional<std::vector<NodeId>> {
          if (!records_loop(node)) return std::nullopt;
          return node.attributes.custom->composites(builder, operands, target_);
        }});
    return result;
  }

 private:
  bool records_loop(const Node& node) {
    if (!is_function(node)) return false;
    const CustomDefinition* definition = &*node.attributes.custom;
    if (const auto found = known_.find(definition); found != known_.end()) return found->second;
    Graph body;
    GraphBuilder builder(body);
    builder.set_location(node.where);
    std::vector<NodeId> inputs;
    for (NodeId operand : node.operands)
      inputs.push_back(builder.input(graph_.node(operand).dtype, graph_.node(operand).shape));
    definition->composites(builder, inputs, target_);
    const bool has_loop =
        std::ranges::any_of(body.nodes, is_loop) ||
        std::ranges::any_of(body.nodes, [&](const Node& inner) {
          return is_function(inner) && LoopRecorder(body, target_).records_loop(inner);
        });
    return known_[definition] = has_loop;
  }

  const Graph& graph_;
  const dsl::Target& target_;
  std::map<const CustomDefinition*, bool> known_;
};

}  // namespace

Graph with_recorded_loops(const Graph& graph, const dsl::Target& target) {
  std::optional<Graph> now = LoopRecorder(graph, target).run();
  if (!now) return graph;
  while (std::optional<Graph> next = LoopRecorder(*now, target).run()) now = std::move(next);
  return std::move(*now);
}

}  // namespace tilewright::graph
