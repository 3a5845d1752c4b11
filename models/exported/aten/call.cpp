#include "models/exported/aten/call.h"

#include <algorithm>
#include <array>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// Where and how memory lies, which is this library's business, and what is for derivatives alone.
constexpr std::array<std::string_view, 8> passed_over = {
    "device",       "layout",      "pin_memory",         "memory_format",
    "non_blocking", "padding_idx", "scale_grad_by_freq", "sparse"};

std::string place_of(const Node& node) {
  return concat("node \"", json::excerpt(node.name), "\" (", json::excerpt(node.target), ")");
}

std::optional<Number> number_of(const Value& value) {
  if (auto* integer = std::get_if<std::int64_t>(&value)) return Number(*integer);
  if (auto* floating = std::get_if<double>(&value)) return Number(*floating);
  if (auto* flag = std::get_if<bool>(&value)) return Number(*flag);
  return std::nullopt;
}

}  // namespace

const ArgumentValue* Call::find(std::string_view name) const {
  for (std::size_t i = 0; i < node_.arguments.size(); ++i)
    if (node_.arguments[i].name == name) {
      if (i < 64) asked_ |= std::uint64_t{1} << i;
      const ArgumentValue& value = node_.arguments[i].value;
      return std::holds_alternative<std::monostate>(value) ? nullptr : &value;
    }
  return nullptr;
}

const ArgumentValue& Call::at(std::string_view name) const {
  const ArgumentValue* found = find(name);
  require(found != nullptr, "[exported] ", place_of(node_), ": the argument \"", name,
          "\" is missing");
  return *found;
}

void Call::refuse(std::string_view name, std::string_view reason) const {
  raise_error(concat("[exported] ", place_of(node_), ": the argument \"", name, "\" ", reason));
}

bool Call::has(std::string_view name) const { return find(name) != nullptr; }

void Call::refuse_unread() const {
  for (std::size_t i = 0; i < node_.arguments.size(); ++i) {
    const Argument& argument = node_.arguments[i];
    bool was_asked = i < 64 && (asked_ >> i & 1) != 0;
    if (!was_asked && !std::holds_alternative<std::monostate>(argument.value) &&
        std::ranges::find(passed_over, argument.name) == passed_over.end())
      refuse(concat(json::excerpt(argument.name)), "is not supported");
  }
}

Tensor Call::tensor(std::string_view name) const {
  auto* named = std::get_if<TensorName>(&at(name));
  auto* tensor = named == nullptr ? nullptr : std::get_if<Tensor>(&value(named->id));
  if (tensor == nullptr) refuse(name, "is no tensor");
  return *tensor;
}
const Subgraph& Call::graph(std::string_view name) const {
  auto* body = std::get_if<GraphArgument>(&at(name));
  if (body == nullptr) refuse(name, "is no graph");
  return *body->graph;
}
Tensor Call::optional_tensor(std::string_view name) const {
  return has(name) ? tensor(name) : Tensor();
}
std::vector<Tensor> Call::tensors(std::string_view name) const {
  auto* named = std::get_if<TensorNames>(&at(name));
  if (named == nullptr) refuse(name, "is no list of tensors");
  std::vector<Tensor> tensors;
  for (auto id : named->ids) {
    auto* tensor = id ? std::get_if<Tensor>(&value(*id)) : nullptr;
    if (id && tensor == nullptr) refuse(name, "is no list of tensors");
    tensors.push_back(tensor == nullptr ? Tensor() : *tensor);
  }
  return tensors;
}

std::vector<Tensor> Call::operands() const {
  std::vector<Tensor> operands;
  auto add = [&](ValueId id) {
    if (auto* tensor = std::get_if<Tensor>(&value(id)); tensor != nullptr && tensor->defined())
      operands.push_back(*tensor);
  };
  for (const Argument& argument : node_.arguments) {
    if (auto* one = std::get_if<TensorName>(&argument.value)) add(one->id);
    if (auto* several = std::get_if<TensorNames>(&argument.value))
      for (auto id : several->ids)
        if (id) add(*id);
  }
  return operands;
}

std::optional<Number> Call::as_scalar(const ArgumentValue& argument) const {
  if (auto* integer = std::get_if<std::int64_t>(&argument)) return Number(*integer);
  if (auto* floating = std::get_if<double>(&argument)) return Number(*floating);
  if (auto* flag = std::get_if<bool>(&argument)) return Number(*flag);
  if (auto* named = std::get_if<NumberName>(&argument)) return number_of(value(named->id));
  return std::nullopt;
}

TensorOperand Call::operand(std::string_view name) const {
  auto scalar = as_scalar(at(name));
  if (!scalar) return {tensor(name)};
  TensorOperand operand(0);
  operand.number = *scalar;
  return operand;
}
Number Call::scalar(std::string_view name) const {
  auto scalar = as_scalar(at(name));
  if (!scalar) refuse(name, "is no number");
  return *scalar;
}
Number Call::scalar(std::string_view name, const Number& missing) const {
  return has(name) ? scalar(name) : missing;
}
double Call::number(std::string_view name, std::optional<double> missing) const {
  return missing && !has(name) ? *missing : scalar(name).as_double();
}
std::vector<double> Call::numbers(std::string_view name) const {
  if (!has(name)) return {};
  auto* numbers = std::get_if<std::vector<double>>(&at(name));
  if (numbers == nullptr) refuse(name, "is no list of numbers");
  return *numbers;
}
std::int64_t Call::integer(std::string_view name, std::optional<std::int64_t> missing) const {
  if (missing && !has(name)) return *missing;
  Number number = scalar(name);
  if (!number.is_integral()) refuse(name, "is no integer");
  return number.as_integer();
}
Shape Call::integers(std::string_view name, std::optional<Shape> missing) const {
  if (missing && !has(name)) return *missing;
  auto* integers = std::get_if<std::vector<Integer>>(&at(name));
  if (integers == nullptr) refuse(name, "is no list of integers");
  Shape result;
  for (const Integer& each : *integers) {
    auto* named = std::get_if<NumberName>(&each);
    auto number = named ? number_of(value(named->id)) : Number(std::get<std::int64_t>(each));
    if (!number || !number->is_integral()) refuse(name, "holds what is no integer");
    result.push_back(number->as_integer());
  }
  return result;
}
int Call::axis(std::string_view name, std::optional<int> missing) const {
  std::int64_t axis = integer(name, missing);
  if (axis < -64 || axis > 64) refuse(name, concat("is the axis ", axis));
  return static_cast<int>(axis);
}
std::vector<int> Call::axes(std::string_view name) const {
  std::vector<int> axes;
  for (std::int64_t axis : integers(name, Shape{})) {
    if (axis < -64 || axis > 64) refuse(name, concat("has the axis ", axis));
    axes.push_back(static_cast<int>(axis));
  }
  return axes;
}
bool Call::flag(std::string_view name, bool missing) const {
  if (!has(name)) return missing;
  auto* flag = std::get_if<bool>(&at(name));
  if (flag == nullptr) refuse(name, "is neither true nor false");
  return *flag;
}
std::string Call::text(std::string_view name, std::string_view missing) const {
  if (!has(name)) return std::string(missing);
  auto* text = std::get_if<std::string>(&at(name));
  if (text == nullptr) refuse(name, "is no string");
  return *text;
}
std::optional<DType> Call::dtype(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  auto* dtype = std::get_if<DType>(&at(name));
  if (dtype == nullptr) refuse(name, "is no element type");
  return *dtype;
}

}  // namespace tilewright::exported
