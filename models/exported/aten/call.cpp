#include "models/exported/aten/call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "graph/functions/complex/arithmetic.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// Where and how memory lies, which is this library's business, and what is for derivatives alone.
constexpr std::array<std::string_view, 8> passed_over = {
    "device",       "layout",      "pin_memory",         "memory_format",
    "non_blocking", "padding_idx", "scale_grad_by_freq", "sparse"};

// Arguments that a complex one beside them makes complex: tensors and lists of them, and numbers.
constexpr auto tensors_of_same_kind = std::to_array<std::string_view>(
    {"input", "other", "self", "source", "src", "tensors", "value", "values"});
constexpr auto numbers_of_same_kind =
    std::to_array<std::string_view>({"fill_value", "other", "s", "self", "value"});
template <std::size_t count>
bool has_name(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

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

bool Call::takes_complex() const {
  auto is_complex_value = [&](ValueId id) {
    return std::holds_alternative<ComplexTensor>(value(id));
  };
  return std::ranges::any_of(node_.arguments, [&](const Argument& argument) {
    if (auto* one = std::get_if<TensorName>(&argument.value)) return is_complex_value(one->id);
    if (auto* several = std::get_if<TensorNames>(&argument.value))
      return std::ranges::any_of(several->ids,
                                 [&](auto id) { return id && is_complex_value(*id); });
    return is_complex_argument(argument.value);
  });
}

Call Call::of(Part part) const {
  Call seen(node_, values_, is_used_);
  seen.part_ = part;
  return seen;
}

Tensor Call::as_tensor(const Value& value, std::string_view name) const {
  if (auto* tensor = std::get_if<Tensor>(&value)) {
    const bool is_zero =
        part_ == Part::imaginary && tensor->defined() && has_name(tensors_of_same_kind, name);
    return is_zero ? zeros(tensor->shape(), tensor->dtype()) : *tensor;
  }
  auto* both = std::get_if<ComplexTensor>(&value);
  if (both == nullptr) return {};
  switch (part_) {
    case Part::real: return both->real();
    case Part::imaginary: return both->imag();
    case Part::magnitude: return abs(*both);
    case Part::truth: return logical_not(logical_not(*both));
    case Part::whole: break;
  }
  refuse(name, "is complex, which is not supported");
}

const Value& Call::any_value(std::string_view name) const {
  auto* named = std::get_if<TensorName>(&at(name));
  if (named == nullptr) refuse(name, "is no tensor");
  return value(named->id);
}

Tensor Call::tensor(std::string_view name) const {
  Tensor tensor = as_tensor(any_value(name), name);
  if (!tensor.defined()) refuse(name, "is no tensor");
  return tensor;
}
const Subgraph& Call::graph(std::string_view name) const {
  auto* body = std::get_if<GraphArgument>(&at(name));
  if (body == nullptr) refuse(name, "is not a graph");
  return *body->graph;
}
Tensor Call::optional_tensor(std::string_view name) const {
  return has(name) ? tensor(name) : Tensor();
}
std::vector<Tensor> Call::tensors(std::string_view name) const {
  auto* named = std::get_if<TensorNames>(&at(name));
  if (named == nullptr) refuse(name, "is not a list of tensors");
  std::vector<Tensor> tensors;
  for (auto id : named->ids) {
    tensors.push_back(id ? as_tensor(value(*id), name) : Tensor());
    if (id && !tensors.back().defined()) refuse(name, "is not a list of tensors");
  }
  return tensors;
}

std::vector<Value> Call::values(std::string_view name) const {
  auto* named = std::get_if<TensorNames>(&at(name));
  if (named == nullptr) refuse(name, "is not a list of tensors");
  std::vector<Value> values;
  for (auto id : named->ids) {
    values.push_back(id ? value(*id) : Value());
    if (std::holds_alternative<std::monostate>(values.back()))
      refuse(name, "holds an element that is neither a tensor nor a number");
  }
  return values;
}

std::vector<Tensor> Call::operands() const {
  std::vector<Tensor> operands;
  auto add = [&](ValueId id) {
    if (auto* tensor = std::get_if<Tensor>(&value(id)); tensor != nullptr && tensor->defined())
      operands.push_back(*tensor);
    if (auto* both = std::get_if<ComplexTensor>(&value(id)))
      operands.insert(operands.end(), {both->real(), both->imag()});
  };
  for (const Argument& argument : node_.arguments) {
    if (auto* one = std::get_if<TensorName>(&argument.value)) add(one->id);
    if (auto* several = std::get_if<TensorNames>(&argument.value))
      for (auto id : several->ids)
        if (id) add(*id);
  }
  return operands;
}

std::optional<Number> Call::as_scalar(const ArgumentValue& argument, std::string_view name) const {
  if (auto* both = std::get_if<std::complex<double>>(&argument)) {
    if (part_ == Part::whole || !has_name(numbers_of_same_kind, name))
      refuse(name, "is complex, which is not supported");
    if (part_ == Part::magnitude) return Number(std::abs(*both));
    if (part_ == Part::truth) return Number(*both != std::complex<double>());
    return Number(part_ == Part::real ? both->real() : both->imag());
  }
  const bool is_number = !std::holds_alternative<TensorName>(argument);
  if (is_number && part_ == Part::imaginary && has_name(numbers_of_same_kind, name))
    return Number(0);
  if (auto* integer = std::get_if<std::int64_t>(&argument)) return Number(*integer);
  if (auto* floating = std::get_if<double>(&argument)) return Number(*floating);
  if (auto* flag = std::get_if<bool>(&argument)) return Number(*flag);
  if (auto* named = std::get_if<NumberName>(&argument)) return number_of(value(named->id));
  return std::nullopt;
}

TensorOperand Call::operand(std::string_view name) const {
  auto scalar = as_scalar(at(name), name);
  if (!scalar) return {tensor(name)};
  TensorOperand operand(0);
  operand.number = *scalar;
  return operand;
}
bool Call::is_complex(std::string_view name) const {
  if (!has(name)) return false;
  const ArgumentValue& argument = at(name);
  if (auto* named = std::get_if<TensorName>(&argument))
    return std::holds_alternative<ComplexTensor>(value(named->id));
  return is_complex_argument(argument);
}
ComplexOperand Call::complex_operand(std::string_view name) const {
  if (auto* both = std::get_if<std::complex<double>>(&at(name))) return *both;
  if (is_complex(name)) return std::get<ComplexTensor>(any_value(name));
  return {operand(name)};
}
ComplexTensor Call::complex_tensor(std::string_view name) const {
  if (is_complex(name)) return std::get<ComplexTensor>(any_value(name));
  const Tensor real = tensor(name);
  return {real, zeros(real.shape(), real.dtype())};
}
ComplexTensor Call::complex_factor(std::string_view name) const {
  return is_complex(name) ? complex_tensor(name) : ComplexTensor(tensor(name));
}
std::vector<ComplexTensor> Call::complex_factors(std::string_view name) const {
  std::vector<ComplexTensor> factors;
  for (const Value& each : values(name)) {
    if (auto* both = std::get_if<ComplexTensor>(&each))
      factors.push_back(*both);
    else if (auto* real = std::get_if<Tensor>(&each))
      factors.emplace_back(*real);
    else
      refuse(name, "is not a list of tensors");
  }
  return factors;
}
Number Call::scalar(std::string_view name) const {
  auto scalar = as_scalar(at(name), name);
  if (!scalar) refuse(name, "is not a number");
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
  if (numbers == nullptr) refuse(name, "is not a list of numbers");
  return *numbers;
}
std::int64_t Call::integer(std::string_view name, std::optional<std::int64_t> missing) const {
  if (missing && !has(name)) return *missing;
  Number number = scalar(name);
  if (!number.is_integral()) refuse(name, "is not an integer");
  return number.as_integer();
}
Shape Call::integers(std::string_view name, std::optional<Shape> missing) const {
  if (missing && !has(name)) return *missing;
  auto* integers = std::get_if<std::vector<Integer>>(&at(name));
  if (integers == nullptr) refuse(name, "is not a list of integers");
  Shape result;
  for (const Integer& each : *integers) {
    auto* named = std::get_if<NumberName>(&each);
    auto number = named ? number_of(value(named->id)) : Number(std::get<std::int64_t>(each));
    if (!number || !number->is_integral()) refuse(name, "holds an element that is not an integer");
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
std::vector<bool> Call::flags(std::string_view name) const {
  auto* flags = std::get_if<std::vector<bool>>(&at(name));
  if (flags == nullptr) refuse(name, "is not a list of flags");
  return *flags;
}
std::string Call::text(std::string_view name, std::string_view missing) const {
  if (!has(name)) return std::string(missing);
  auto* text = std::get_if<std::string>(&at(name));
  if (text == nullptr) refuse(name, "is not a string");
  return *text;
}
std::optional<DType> Call::dtype(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  const ArgumentValue& type = at(name);
  if (auto* both = std::get_if<ComplexType>(&type)) {
    if (part_ == Part::whole) refuse(name, "is complex, which is not supported");
    return both->parts;
  }
  auto* dtype = std::get_if<DType>(&type);
  if (dtype == nullptr) refuse(name, "is not an element type");
  return *dtype;
}

std::optional<ComplexType> Call::complex_type(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  auto* both = std::get_if<ComplexType>(&at(name));
  return both == nullptr ? std::nullopt : std::optional(*both);
}

double in_range(double number, DType dtype) {
  constexpr double greatest_f16 = 65504, rounds_beyond = 65520;
  double greatest = std::numeric_limits<float>::max();
  if (dtype == DType::f16) greatest = greatest_f16;
  if (dtype == DType::f64) greatest = std::numeric_limits<double>::max();
  if (std::abs(number) <= greatest || std::isnan(number)) return number;
  const bool stays = dtype == DType::f16 && std::abs(number) < rounds_beyond;
  return std::copysign(stays ? greatest : std::numeric_limits<double>::infinity(), number);
}

}  // namespace tilewright::exported
