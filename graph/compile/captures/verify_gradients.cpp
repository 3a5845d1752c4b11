#include "graph/compile/captures/verify_gradients.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/custom/definition.h"
#include "graph/derivatives/gradient_check.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/functions/differentiating/host_tensor.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/splice.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

const CustomDefinition* definition_of(const Node& node) {
  const CustomReference& custom = node.attributes.custom;
  return custom.is_defined() ? &*custom : nullptr;
}
bool is_gradient(const Node& node) {
  const CustomDefinition* definition = definition_of(node);
  return definition != nullptr && definition->gradient != nullptr;
}

bool has_gradients(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, is_gradient) || has_gradients_in_bodies(graph);
}

bool has_nan(const HostTensor& value) {
  return std::ranges::any_of(value.floating, [](double x) { return std::isnan(x); }) ||
         std::ranges::any_of(value.others, [](const HostTensor& other) { return has_nan(other); });
}

// The operands that a node with a NaN may have it from.
std::vector<NodeId> nan_operands(const Node& node, const HostTensor& value,
                                 const std::vector<HostTensor>& values) {
  std::vector<NodeId> found;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const HostTensor& operand = values[node.operands[k]];
    if (!has_nan(operand)) continue;
    bool is_taken = node.op != Op::where;
    for (std::size_t i = 0; i < operand.floating.size() && !is_taken; ++i)
      is_taken = std::isnan(operand.floating[i]) && std::isnan(value.floating[i]) &&
                 (values[node.operands[0]].integer[i] != 0) == (k == 1);
    if (is_taken) found.push_back(node.operands[k]);
  }
  return found;
}

// The graph with its gradients written out. Nodes of derivatives have a mark, and no others.
Graph with_marked_derivatives(const Graph& recorded, const dsl::Target& target) {
  Graph graph = recorded;
  graph.marks = {"derivative"};
  for (Node& node : graph.nodes) node.origin.mark = 0;
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    const CustomDefinition* definition = definition_of(node);
    if (definition == nullptr || !definition->is_gradient) return std::nullopt;
    GraphBuilder builder = rewriter.builder(node);
    const std::vector<NodeId> operands = rewriter.operands_of(node);
    if (definition->name != gradient_name) {
      std::vector<NodeId> results = definition->composites(builder, operands, target);
      for (NodeId made = 0; made < builder.graph().nodes.size(); ++made) {
        MarkId& mark = builder.graph().nodes[made].origin.mark;
        mark = std::min<MarkId>(mark, 1);
      }
      return rewriter.replace(id, std::move(results));
    }
    const CustomDefinition::Gradient& gradient = *definition->gradient;
    const Graph joint = gradient_graph(before_gradients(gradient.body, target),
                                       {gradient.inputs, gradient.outputs}, target);
    const std::size_t inputs = gradient.body.inputs.size();
    const auto backward = joint.inputs.size() > inputs ? joint.inputs[inputs]
                                                       : static_cast<NodeId>(joint.nodes.size());
    auto mark = [&](NodeId of) { return static_cast<MarkId>(of >= backward ? 1 : 0); };
    return rewriter.replace(id, splice_with_lines(joint, builder, operands, {.mark = mark}));
  });
}

}  // namespace

bool has_gradients_in_bodies(const Graph& recorded) {
  return std::ranges::any_of(recorded.nodes, [](const Node& node) {
    const Bodies& bodies = node.attributes.bodies;
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (has_gradients(bodies[i])) return true;
    return false;
  });
}

void require_right_gradients(const Graph& recorded, const std::vector<Tensor>& inputs,
                             const dsl::Target& target, std::uint64_t seed) {
  if (std::ranges::none_of(recorded.nodes, is_gradient)) return;
  const std::vector<HostTensor> values =
      evaluate_nodes(recorded, host_tensors_of(inputs), Rounding::double_);
  for (const Node& node : recorded.nodes) {
    if (!is_gradient(node)) continue;
    const CustomDefinition::Gradient& gradient = *definition_of(node)->gradient;
    std::vector<HostTensor> own;
    for (std::size_t i = 0; i < gradient.body.inputs.size(); ++i) {
      own.push_back(values[node.operands[i]]);
      own.back().others.clear();
    }
    const auto found = gradient_mismatch(gradient.body, {gradient.inputs, gradient.outputs}, own,
                                         target, {.seed = seed});
    if (!found) continue;
    raise_error(concat("[compile] verify_gradients: the derivative at ", describe(node.where),
                       " by its input ", found->input, " in the direction (", found->direction,
                       ") is ", found->by_gradient, " by the gradient and ", found->by_differences,
                       " by differences; ",
                       found->cause.empty() ? "no operation differs by itself"
                                            : concat("they differ by the rule of ", found->cause)));
  }
}

// The values are followed back from the outputs, since a NaN that a choice leaves out is none.
std::string first_nan(const Graph& recorded, const std::vector<Tensor>& inputs,
                      const dsl::Target& target) {
  const Graph graph = decompose(with_marked_derivatives(recorded, target), target);
  const std::vector<HostTensor> values =
      evaluate_nodes(graph, host_tensors_of(inputs), Rounding::exact_dtype);
  std::vector<bool> is_followed(graph.nodes.size());
  for (NodeId id : graph.outputs) is_followed[id] = has_nan(values[id]);
  std::optional<NodeId> first;
  for (auto id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    if (!is_followed[id]) continue;
    const std::vector<NodeId> sources = nan_operands(graph.node(id), values[id], values);
    for (NodeId operand : sources) is_followed[operand] = true;
    if (sources.empty()) first = id;
  }
  if (!first) return {};
  const Node& node = graph.node(*first);
  if (node.op == Op::input)
    return concat("input ", std::ranges::find(graph.inputs, *first) - graph.inputs.begin());
  return concat(node.origin.mark != 0 ? "the derivative of " : "", word_of(node.origin), " at ",
                describe(node.where));
}

bool has_nan(const Tensor& tensor) {
  return is_floating(tensor.dtype()) && has_nan(host_tensors_of({tensor})[0]);
}

}  // namespace tilewright::graph
