#include "graph/functions/named/named_function.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "graph/custom/definition.h"
#include "graph/functions/differentiating/captured_rule.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/functions/differentiating/ruled_function.h"
#include "graph/ir/user_call.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

namespace named {
#define TILEWRIGHT_NAMED_FUNCTION(name) extern const NamedFunction name##_function;
#include "graph/functions/named/functions.def"
#undef TILEWRIGHT_NAMED_FUNCTION
}  // namespace named

namespace {

// Operands that a call lacks are a setting of it: their numbers.
constexpr std::string_view missing = "missing";

// The expansion of a call. Every pass that infers types looks at its node, and it is expanded once;
// so the last expansion, for types of operands and a target, is kept.
class Expansion {
 public:
  Expansion(const NamedFunction& function, Settings settings)
      : function_(function), settings_(std::move(settings)) {}

  // A graph without composites, with the call's operands for inputs.
  std::shared_ptr<const Graph> of(std::span<const TensorType> operands, const dsl::Target& target,
                                  std::source_location where) {
    std::lock_guard lock(mutex_);
    if (graph_ == nullptr || !std::ranges::equal(operands, operands_) || target != target_) {
      graph_ = std::make_shared<const Graph>(decompose(recorded(operands, target, where), target));
      operands_.assign(operands.begin(), operands.end());
      target_ = target;
    }
    return graph_;
  }

  // The graph that the body records.
  Graph recorded(std::span<const TensorType> types, const dsl::Target& target,
                 std::source_location where) const {
    const CapturePause pause;
    const AutocastPause no_autocast;
    Capture capture;
    std::vector<Tensor> operands;
    for (bool is_given : given(types.size()))
      operands.push_back(is_given ? placeholder(capture, types, operands) : Tensor());
    Captured captured = capture.finish(function_.body()({operands, settings_, target, where}));
    check(captured.captured.empty() && captured.graph.mutations.empty(),
          "a library function uses more than its operands, or writes");
    return std::move(captured.graph);
  }

  const NamedFunction& function() const { return function_; }
  const Settings& settings() const { return settings_; }

  // For each operand of the function, true if the call has it, where it has so many.
  std::vector<bool> given(std::size_t count) const {
    Shape absent;
    if (settings_.has(missing)) absent = settings_.sizes(missing);
    std::vector<bool> all(count + absent.size(), true);
    for (std::int64_t i : absent) all[static_cast<std::size_t>(i)] = false;
    return all;
  }

 private:
  static Tensor placeholder(Capture& capture, std::span<const TensorType> types,
                            const std::vector<Tensor>& before) {
    const auto next = static_cast<std::size_t>(std::ranges::count_if(before, &Tensor::defined));
    return capture.placeholder(types[next].dtype, types[next].shape);
  }

  const NamedFunction& function_;
  const Settings settings_;
  std::mutex mutex_;
  std::shared_ptr<const Graph> graph_;
  std::vector<TensorType> operands_;
  dsl::Target target_;
};

std::vector<TensorType> types_of(std::span<const Node* const> nodes) {
  std::vector<TensorType> types;
  for (const Node* node : nodes) types.push_back({node->dtype, node->shape});
  return types;
}

std::vector<TensorType> types_in(const GraphBuilder& builder, const std::vector<NodeId>& ids) {
  std::vector<TensorType> types;
  for (NodeId id : ids) types.push_back({builder.node(id).dtype, builder.node(id).shape});
  return types;
}
std::vector<NodeId> spliced_outputs(const Graph& graph, GraphBuilder& builder,
                                    const std::vector<NodeId>& operands) {
  const std::vector<NodeId> ids = splice(graph, builder, operands);
  std::vector<NodeId> results;
  for (NodeId id : graph.outputs) results.push_back(ids[id]);
  return results;
}

// The cotangents of the operands of a call by the function's rule.
std::vector<std::optional<NodeId>> derivative(const Expansion& call, const Differential& d) {
  const std::vector<bool> given = call.given(d.operands.size());
  const Cotangents found = captured_rule(d, [&](const RuleOperands& of) {
    std::vector<Tensor> operands, flowing;
    std::vector<bool> wanted;
    std::size_t next = 0;
    for (bool is_given : given) {
      wanted.push_back(is_given && d.wants(next));
      operands.push_back(is_given ? of.operands[next++] : Tensor());
    }
    std::vector<Tensor> all = call.function().derivative()(
        {{operands, call.settings(), d.target, d.node.where}, of.results, of.cotangents, wanted});
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i]) flowing.push_back(i < all.size() ? std::move(all[i]) : Tensor());
    return flowing;
  });
  std::vector<std::optional<NodeId>> nodes;
  for (const auto& cotangent : found)
    nodes.push_back(cotangent ? std::optional(cotangent->id) : std::nullopt);
  return nodes;
}

CustomReference call_of(const NamedFunction& function, const Settings& settings) {
  auto expansion = std::make_shared<Expansion>(function, settings);
  CustomDefinition definition;
  definition.name = function.name();
  definition.settings = settings.text();
  definition.identity =
      Hasher().add("named").add(definition.name).add(definition.settings).finish();
  definition.result_types = [expansion](std::span<const TensorType> operands,
                                        std::source_location where) {
    auto graph = expansion->of(operands, dsl::host_target(), where);
    std::vector<const Node*> results;
    for (NodeId id : graph->outputs) results.push_back(&graph->node(id));
    return types_of(results);
  };
  definition.formula = [expansion](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                   const dsl::Target& target) {
    return spliced_outputs(*expansion->of(types_in(builder, operands), target, builder.location()),
                           builder, operands);
  };
  definition.composites = [expansion](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                      const dsl::Target& target) {
    return spliced_outputs(
        expansion->recorded(types_in(builder, operands), target, builder.location()), builder,
        operands);
  };
  if (function.derivative() != nullptr)
    definition.derivative = [expansion](const Differential& d) {
      return derivative(*expansion, d);
    };
  return CustomReference(std::make_shared<const CustomDefinition>(std::move(definition)));
}

}  // namespace

std::vector<Tensor> NamedFunction::operator()(std::span<const Tensor> operands, Settings settings,
                                              std::source_location where) const {
  std::vector<Tensor> given;
  Shape absent;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].defined())
      given.push_back(operands[i]);
    else
      absent.push_back(static_cast<std::int64_t>(i));
  }
  if (!absent.empty()) settings.add(std::string(missing), absent);
  Attributes attributes;
  attributes.custom = call_of(*this, settings);
  return of_user_call(name_, where,
                      [&] { return apply_all(Op::custom_formula, given, attributes, where); });
}

std::span<const NamedFunction* const> named_functions() {
  static constexpr const NamedFunction* functions[] = {
#define TILEWRIGHT_NAMED_FUNCTION(name) &named::name##_function,
#include "graph/functions/named/functions.def"
#undef TILEWRIGHT_NAMED_FUNCTION
  };
  return functions;
}

CustomReference function_named(std::string_view name, std::string_view settings) {
  if (auto gradient = gradient_from_text(name, settings); gradient.is_defined()) return gradient;
  if (name == with_rule_name) return function_with_rule_from_text(settings);
  auto functions = named_functions();
  auto found = std::ranges::find(functions, name, &NamedFunction::name);
  return found == functions.end() ? CustomReference() : call_of(**found, Settings::parse(settings));
}

}  // namespace tilewright::graph
