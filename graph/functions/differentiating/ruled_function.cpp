#include "graph/functions/differentiating/ruled_function.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "graph/custom/definition.h"
#include "graph/functions/differentiating/body_text.h"
#include "graph/functions/differentiating/captured_rule.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Tensors = std::vector<Tensor>;

Tensor wide(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) ? x.to(accumulator(x.dtype())) : x;
}
Tensors wide(const Tensors& tensors) {
  Tensors all;
  for (const Tensor& each : tensors) all.push_back(wide(each));
  return all;
}

Tensors by_slopes(const Tensor& gradient, const Tensors& slopes) {
  Tensors all;
  for (const Tensor& slope : slopes)
    all.push_back(slope.defined() ? scaled(gradient, slope) : Tensor());
  return all;
}

Tensors cotangents_by(const Rule& rule, const RuleCall& call) {
  if (rule.slope != nullptr)
    return by_slopes(call.cotangents[0], {rule.slope(call[0], call.results[0])});
  if (rule.slopes != nullptr) return by_slopes(call.cotangents[0], rule.slopes(call));
  return rule.cotangents(call);
}

std::vector<std::optional<NodeId>> derivative(const Rule& rule, const std::vector<double>& numbers,
                                              const Differential& d) {
  const graph::Cotangents found = captured_rule(d, [&](const RuleOperands& of) {
    const Tensors operands = wide(of.operands), results = wide(of.results),
                  cotangents = wide(of.cotangents);
    Tensors all = cotangents_by(rule, {operands, results, cotangents, numbers});
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].defined()) all[i] = all[i].to(of.operands[i].dtype());
    return all;
  });
  std::vector<std::optional<NodeId>> nodes;
  for (const auto& cotangent : found)
    nodes.push_back(cotangent ? std::optional(cotangent->id) : std::nullopt);
  return nodes;
}

std::string text_of(const std::vector<double>& numbers) {
  std::string text;
  for (double number : numbers) {
    char digits[64];
    const auto* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text += concat(text.empty() ? "" : " ", std::string_view(digits, end));
  }
  return text;
}
std::vector<double> doubles_of(std::string_view text) {
  std::vector<double> numbers;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    require(error == std::errc(), "[with_rule] \"", text,
            "\" is no list of numbers; spaces between them are wanted");
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return numbers;
}

std::vector<NodeId> outputs_of(const Graph& graph, GraphBuilder& builder,
                               const std::vector<NodeId>& inputs) {
  const std::vector<NodeId> ids = splice(graph, builder, inputs);
  std::vector<NodeId> outputs;
  for (NodeId id : graph.outputs) outputs.push_back(ids[id]);
  return outputs;
}

// The function as a graph of its operands. The constants that it uses are appended to `operands`.
Graph recorded(const TensorsFunction& function, Tensors& operands) {
  const CapturePause pause;
  const AutocastPause no_autocast;
  Capture capture;
  Tensors inputs;
  for (const Tensor& operand : operands)
    inputs.push_back(capture.placeholder(operand.dtype(), operand.shape()));
  Tensors outputs = function(inputs);
  inputs.clear();
  Captured made = capture.finish(std::move(outputs));
  check(made.graph.mutations.empty() && made.graph.index_checks.empty(),
        "a function with a rule writes, or has indices checked");
  operands.insert(operands.end(), made.captured.begin(), made.captured.end());
  return std::move(made.graph);
}

}  // namespace

Tensor scaled(const Tensor& gradient, const Tensor& slope) {
  const Tensor product = gradient * slope;
  return where(logical_and(gradient == 0.0, product != product), 0.0, product);
}

CustomReference function_with_rule(const Rule& rule, std::vector<double> numbers, Graph body) {
  CustomDefinition definition;
  definition.name = with_rule_name;
  definition.settings =
      concat("rule=", rule.name, ", numbers=", text_of(numbers), ", body=", body_text(body));
  definition.identity = Hasher().add(with_rule_name).add(definition.settings).finish();
  std::vector<TensorType> types;
  for (NodeId id : body.outputs) types.push_back({body.node(id).dtype, body.node(id).shape});
  definition.rule = [types](std::span<const TensorType>) { return types; };
  auto kept = std::make_shared<const Graph>(std::move(body));
  definition.composites = [kept](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                 const dsl::Target&) {
    return outputs_of(*kept, builder, operands);
  };
  definition.formula = [kept](GraphBuilder& builder, const std::vector<NodeId>& operands,
                              const dsl::Target& target) {
    return outputs_of(decompose(*kept, target), builder, operands);
  };
  definition.derivative = [&rule, numbers](const Differential& d) {
    return derivative(rule, numbers, d);
  };
  return CustomReference(std::make_shared<const CustomDefinition>(std::move(definition)));
}

CustomReference function_with_rule_from_text(std::string_view text) {
  const std::string_view name = taken_between(text, "rule=", ", numbers=", with_rule_name),
                         numbers = taken_between(text, "numbers=", ", body=", with_rule_name);
  const Rule* rule = rule_named(name);
  require(rule != nullptr, "[with_rule] there is no rule for \"", name,
          "\"; a function of graph/functions/derivatives is wanted");
  text.remove_prefix(text.find('<'));
  return function_with_rule(*rule, doubles_of(numbers), body_from_text(text, with_rule_name));
}

std::vector<Tensor> with_rule(std::string_view name, std::span<const Tensor> operands,
                              const std::vector<Number>& settings, const TensorsFunction& function,
                              std::source_location where) {
  auto is_floating_tensor = [](const Tensor& x) { return is_floating(x.dtype()); };
  const bool may_be = Capture::active() != nullptr && CapturesForDerivatives::is_active() &&
                      std::ranges::all_of(operands, &Tensor::defined) &&
                      std::ranges::any_of(operands, is_floating_tensor);
  const Rule* rule = may_be ? rule_named(name) : nullptr;
  if (rule == nullptr) return function(operands);
  Tensors all(operands.begin(), operands.end());
  std::vector<double> numbers;
  for (const Number& setting : settings) numbers.push_back(setting.as_double());
  Attributes attributes;
  attributes.custom = function_with_rule(*rule, std::move(numbers), recorded(function, all));
  return apply_all(Op::custom_formula, all, attributes, where);
}

}  // namespace tilewright::graph
