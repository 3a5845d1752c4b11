#include "graph/functions/differentiating/gradient_node.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>

#include "graph/custom/definition.h"
#include "graph/functions/differentiating/body_text.h"
#include "graph/ops/attention_operands.h"
#include "graph/passes/passes.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/score_masks.h"
#include "graph/passes/splice.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr std::string_view inlined_name = "inlined", checkpoint_name = "checkpoint";

// A graph that is made when it is first needed, and kept for its target.
class Expansion {
 public:
  using Make = std::function<Graph(const dsl::Target& target)>;
  explicit Expansion(Make make) : make_(std::move(make)) {}

  std::shared_ptr<const Graph> of(const dsl::Target& target) {
    std::lock_guard lock(mutex_);
    if (graph_ == nullptr || target != target_) {
      graph_ = std::make_shared<const Graph>(make_(target));
      target_ = target;
    }
    return graph_;
  }

 private:
  const Make make_;
  std::mutex mutex_;
  std::shared_ptr<const Graph> graph_;
  dsl::Target target_;
};

std::vector<TensorType> types_of(const Graph& graph, const std::vector<NodeId>& ids) {
  std::vector<TensorType> types;
  for (NodeId id : ids) types.push_back({graph.node(id).dtype, graph.node(id).shape});
  return types;
}

std::string text_of(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t number : numbers) text += concat(text.empty() ? "" : "x", number);
  return text;
}

std::vector<std::size_t> numbers_of(std::string_view text) {
  std::vector<std::size_t> numbers;
  while (!text.empty()) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    require(error == std::errc(), "[gradient] \"", text, "\" is no list of numbers; it must be ",
            "numbers with x between them");
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('x')) text.remove_prefix(1);
  }
  return numbers;
}

// The common part of the definitions of these nodes.
CustomDefinition definition_of(std::string_view name, std::string settings,
                               std::vector<TensorType> types, Expansion::Make make) {
  CustomDefinition definition;
  definition.name = name;
  definition.settings = std::move(settings);
  definition.identity = Hasher().add(name).add(definition.settings).finish();
  definition.rule = [types = std::move(types)](std::span<const TensorType>) { return types; };
  definition.is_gradient = true;
  auto expansion = std::make_shared<Expansion>(std::move(make));
  definition.composites = [expansion](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                      const dsl::Target& target) {
    return splice_with_lines(*expansion->of(target), builder, operands);
  };
  definition.formula = [expansion](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                   const dsl::Target& target) {
    return splice_with_lines(decompose(*expansion->of(target), target), builder, operands);
  };
  return definition;
}

CustomDefinition inlined_definition(Graph body) {
  std::vector<TensorType> types = types_of(body, body.outputs);
  std::string settings = concat("body=", body_text(body));
  return definition_of(
      inlined_name, std::move(settings), std::move(types),
      [body = std::move(body)](const dsl::Target& target) { return differentiate(body, target); });
}

std::shared_ptr<const CustomDefinition::Gradient> gradient_info(Graph body,
                                                                GradientRequest request) {
  return std::make_shared<const CustomDefinition::Gradient>(CustomDefinition::Gradient{
      std::move(body), std::move(request.inputs), std::move(request.outputs)});
}

CustomReference reference_to(CustomDefinition definition) {
  return CustomReference(std::make_shared<const CustomDefinition>(std::move(definition)));
}

}  // namespace

// True if a number as low as a mask's stands in place of some scores, which have no gradient then.
static bool fills_with_finite_masks(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.op != Op::where) return false;
    const auto yes = number_of(graph, node.operands[1]), no = number_of(graph, node.operands[2]);
    const std::optional<double> fill = yes ? yes : no;
    return yes.has_value() != no.has_value() && std::isfinite(*fill) && *fill <= lowest_score;
  });
}

static bool has_masks_of_numbers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.op != Op::attention) return false;
    auto operand = [&](std::size_t i) -> const Node& { return graph.node(node.operands[i]); };
    auto axes = [&](std::size_t i) { return operand(i).shape.size(); };
    return AttentionOperands(node.attributes, node.operands.size(), axes)
        .may_have_large_scores(node.attributes, [&](std::size_t i) { return operand(i).dtype; });
  });
}

// Marks of regions in a body are borders of no program: the derivative is one stretch. An attention
// adds what its mask's numbers say, which has the value of a finite fill, but where a row sees no
// key not its gradient: then it stays written out.
Graph before_gradients(const Graph& body, const dsl::Target& target) {
  const std::array<std::string, 4> names = {"common_subexpressions", "decide_by_places",
                                            "form_attention", "place_masks"};
  Graph graph = run_named_passes(body, names, target);
  if (fills_with_finite_masks(body) && has_masks_of_numbers(graph))
    graph = run_named_passes(body, std::span(names).first(2), target);
  graph.marks.clear();
  for (Node& node : graph.nodes) node.origin.mark = 0;
  return graph;
}

CustomReference gradient_of(Graph body, GradientRequest request) {
  std::vector<NodeId> results = body.outputs;
  for (std::size_t i : request.inputs) results.push_back(body.inputs[i]);
  std::string settings = concat("inputs=", text_of(request.inputs),
                                ", outputs=", text_of(request.outputs), ", body=", body_text(body));
  std::vector<TensorType> types = types_of(body, results);
  auto gradient = gradient_info(std::move(body), std::move(request));
  CustomDefinition definition = definition_of(
      gradient_name, std::move(settings), std::move(types), [gradient](const dsl::Target& target) {
        return gradient_graph(before_gradients(gradient->body, target),
                              {gradient->inputs, gradient->outputs}, target);
      });
  definition.gradient = gradient;
  return reference_to(std::move(definition));
}

CustomReference inlined(Graph body) { return reference_to(inlined_definition(std::move(body))); }

CustomReference inlined_forward(Graph forward, Graph body, GradientRequest request) {
  CustomDefinition definition = inlined_definition(std::move(forward));
  definition.gradient = gradient_info(std::move(body), std::move(request));
  return reference_to(std::move(definition));
}

CustomReference checkpoint_of(Graph body) {
  std::vector<TensorType> types = types_of(body, body.outputs);
  std::string settings = concat("body=", body_text(body));
  auto again = std::make_shared<Expansion>([body = std::move(body)](const dsl::Target& target) {
    return before_gradients(body, target);
  });
  CustomDefinition definition = definition_of(
      checkpoint_name, std::move(settings), std::move(types),
      [again](const dsl::Target& target) { return differentiate(*again->of(target), target); });
  definition.recomputed = [again](const dsl::Target& target) { return again->of(target); };
  return reference_to(std::move(definition));
}

CustomReference gradient_from_text(std::string_view name, std::string_view settings) {
  constexpr std::string_view body = "body=";
  auto body_of = [&](std::string_view text) {
    require(text.starts_with(body), "[gradient] \"", text, "\" has no body; it must be body=<..>");
    return body_from_text(text.substr(body.size()), gradient_name);
  };
  if (name == inlined_name) return inlined(body_of(settings));
  if (name == checkpoint_name) return checkpoint_of(body_of(settings));
  if (name != gradient_name) return {};
  GradientRequest request;
  request.inputs = numbers_of(taken_between(settings, "inputs=", ", outputs=", gradient_name));
  request.outputs = numbers_of(taken_between(settings, "outputs=", ", body=", gradient_name));
  return gradient_of(body_of(settings.substr(2)), std::move(request));
}

CustomReference stop_gradient_op() {
  CustomDefinition definition;
  definition.name = "stop_gradient";
  definition.identity = Hasher().add("named").add(definition.name).finish();
  definition.rule = [](std::span<const TensorType> operands) {
    return std::vector<TensorType>(operands.begin(), operands.end());
  };
  definition.formula = [](GraphBuilder&, const std::vector<NodeId>& operands, const dsl::Target&) {
    return operands;
  };
  definition.stops_gradient = true;
  return reference_to(std::move(definition));
}

}  // namespace tilewright::graph
