#include "models/onnx/program/training.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "models/onnx/program/dtype_numbers.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

// The operands of an operator by which its results have a gradient: those below `end`, from `begin`
// on.
struct Differentiable {
  std::string_view op;
  std::size_t begin, end;
};
constexpr Differentiable exceptions[] = {
    {"ArgMax", 0, 0},
    {"ArgMin", 0, 0},
    {"BatchNormalization", 0, 3},
    {"Bernoulli", 0, 0},
    {"Ceil", 0, 0},
    {"ConstantOfShape", 0, 0},
    {"DequantizeLinear", 0, 1},
    {"Dropout", 0, 1},
    {"DynamicQuantizeLinear", 0, 0},
    {"Equal", 0, 0},
    {"EyeLike", 0, 0},
    {"Floor", 0, 0},
    {"Greater", 0, 0},
    {"GreaterOrEqual", 0, 0},
    {"IsInf", 0, 0},
    {"IsNaN", 0, 0},
    {"Less", 0, 0},
    {"LessOrEqual", 0, 0},
    {"Multinomial", 0, 0},
    {"NonMaxSuppression", 0, 0},
    {"NonZero", 0, 0},
    {"OneHot", 2, 3},
    {"QuantizeLinear", 0, 0},
    {"RandomNormalLike", 0, 0},
    {"RandomUniformLike", 0, 0},
    {"Range", 0, 0},
    {"Resize", 0, 1},
    {"Round", 0, 0},
    {"Shape", 0, 0},
    {"Sign", 0, 0},
    {"Size", 0, 0},
    {"Upsample", 0, 1},
    {"com.microsoft.DequantizeLinear", 0, 1},
    {"com.microsoft.QuantizeLinear", 0, 0},
};
static_assert(std::ranges::is_sorted(exceptions, {}, &Differentiable::op));

const AttributeValue* attribute_of(const Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.attributes, name, &Attribute::name);
  return found == node.attributes.end() ? nullptr : &found->value;
}

bool gives_floats(const Node& node) {
  const AttributeValue* to = node.op == "Cast" ? attribute_of(node, "to") : nullptr;
  if (to == nullptr || !std::holds_alternative<std::int64_t>(*to)) return true;
  const std::optional<DType> dtype = dtype_of_number(std::get<std::int64_t>(*to));
  return dtype && is_floating(*dtype);
}

std::span<const ValueId> differentiable_operands(const Node& node) {
  const std::span<const ValueId> all = node.inputs;
  if (!gives_floats(node)) return {};
  const auto found =
      std::ranges::lower_bound(exceptions, std::string_view(node.op), {}, &Differentiable::op);
  if (found == std::end(exceptions) || found->op != node.op) return all;
  const std::size_t begin = std::min(found->begin, all.size());
  return all.subspan(begin, std::min(found->end, all.size()) - begin);
}

// The number that the node of a constant gives, or the initializer.
double number_of(const Program& program, ValueId id) {
  const auto own = std::ranges::find(program.initializers, id, &Initializer::value);
  if (own != program.initializers.end() && own->tensor.count() == 1)
    return own->tensor.to(f64).to_vector<double>()[0];
  double number = 0;
  for_each_node(program.graph, [&](const Node& node) {
    const AttributeValue* value = node.op == "Constant" ? attribute_of(node, "value") : nullptr;
    if (value == nullptr || node.outputs.size() != 1 || node.outputs[0] != id) return;
    const auto* content = std::get_if<Value>(value);
    if (content != nullptr && content->is_tensor() && content->tensor().count() == 1)
      number = content->tensor().to(f64).to_vector<double>()[0];
  });
  return number;
}

bool computes_as_in_training(const Program& program, const Node& node) {
  constexpr std::size_t mode_of_dropout = 2;
  if (node.op == "Dropout")
    return node.inputs.size() > mode_of_dropout && node.inputs[mode_of_dropout] != no_value &&
           number_of(program, node.inputs[mode_of_dropout]) != 0;
  if (node.op != "BatchNormalization") return false;
  const AttributeValue* mode = attribute_of(node, "training_mode");
  return mode != nullptr && std::holds_alternative<std::int64_t>(*mode) &&
         std::get<std::int64_t>(*mode) != 0;
}

}  // namespace

// Backwards from the outputs, those of the bodies of a node that has a gradient included; again
// while anything changes, as the nodes of a body follow the one that it belongs to.
std::vector<bool> differentiable_values(const Program& program) {
  std::vector<const Node*> nodes;
  for_each_node(program.graph, [&](const Node& node) { nodes.push_back(&node); });
  std::vector<bool> is_reached(program.values);
  bool has_changed = true;
  auto reach = [&](ValueId id) {
    if (id == no_value || is_reached[static_cast<std::size_t>(id)]) return;
    is_reached[static_cast<std::size_t>(id)] = has_changed = true;
  };
  for (const Output& output : program.graph.outputs) reach(output.value);
  while (has_changed) {
    has_changed = false;
    for (const Node* node : std::views::reverse(nodes)) {
      const bool has_gradient = std::ranges::any_of(node->outputs, [&](ValueId id) {
        return id != no_value && is_reached[static_cast<std::size_t>(id)];
      });
      if (!has_gradient) continue;
      for (ValueId id : differentiable_operands(*node)) reach(id);
      for (const Attribute& attribute : node->attributes)
        if (const auto* body = std::get_if<Subgraph>(&attribute.value))
          for (const Output& output : (*body)->outputs) reach(output.value);
    }
  }
  return is_reached;
}

std::string training_operator(const Program& program) {
  std::string first;
  for_each_node(program.graph, [&](const Node& node) {
    if (first.empty() && computes_as_in_training(program, node))
      first = concat(node.op, ", node \"", node.name, "\"");
  });
  return first;
}

}  // namespace tilewright::onnx
