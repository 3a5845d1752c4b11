#include "graph/functions/named/named_function.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "graph/custom/definition.h"
#include "graph/ir/user_call.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
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
      graph_ = std::make_shared<const Graph>(made(operands, target, where));
      operands_.assign(operands.begin(), operands.end());
      target_ = target;
    }
    return graph_;
  }

 private:
  Graph made(std::span<const TensorType> types, const dsl::Target& target,
             std::source_location where) const {
    CapturePause pause;
    Capture capture;
    Shape absent;
    if (settings_.has(missing)) absent = settings_.sizes(missing);
    std::vector<Tensor> operands;
    for (std::size_t next = 0; next < types.size() || !absent.empty();) {
      const bool is_absent =
          !absent.empty() && absent.front() == static_cast<std::int64_t>(operands.size());
      if (is_absent) absent.erase(absent.begin());
      if (!is_absent && next == types.size()) break;
      operands.push_back(is_absent ? Tensor()
                                   : capture.placeholder(types[next].dtype, types[next].shape));
      if (!is_absent) ++next;
    }
    Captured captured = capture.finish(function_.body()({operands, settings_, target, where}));
    check(captured.captured.empty() && captured.graph.mutations.empty(),
          "a library function uses more than its operands, or writes");
    return decompose(captured.graph, target);
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
    std::vector<TensorType> types;
    for (NodeId id : operands) types.push_back({builder.node(id).dtype, builder.node(id).shape});
    auto graph = expansion->of(types, target, builder.location());
    const std::vector<NodeId> ids = splice(*graph, builder, operands);
    std::vector<NodeId> results;
    for (NodeId id : graph->outputs) results.push_back(ids[id]);
    return results;
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
  auto functions = named_functions();
  auto found = std::ranges::find(functions, name, &NamedFunction::name);
  return found == functions.end() ? CustomReference() : call_of(**found, Settings::parse(settings));
}

}  // namespace tilewright::graph
