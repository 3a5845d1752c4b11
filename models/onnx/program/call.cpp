#include "models/onnx/program/call.h"

#include <algorithm>

#include "models/files/reader.h"
#include "models/onnx/program/dtype_numbers.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {

using json::excerpt;

bool Call::wants(std::size_t result) const {
  if (result >= node_.outputs.size() || node_.outputs[result] == no_value) return false;
  return execution_.is_used[static_cast<std::size_t>(node_.outputs[result])];
}

bool Call::has(std::size_t input) const {
  if (input < 64) asked_inputs_ |= std::uint64_t{1} << input;
  return input < node_.inputs.size() && node_.inputs[input] != no_value;
}
const Value& Call::value(std::size_t input) const {
  require(has(input), "[onnx] input ", input, " is missing");
  const Value& value = execution_.values[static_cast<std::size_t>(node_.inputs[input])];
  require(value.defined(), "[onnx] input ", input, " is a result that was not computed");
  return value;
}
Tensor Call::optional_tensor(std::size_t input) const {
  return has(input) ? tensor(input) : Tensor();
}
std::vector<Tensor> Call::tensors() const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count(); ++i) tensors.push_back(tensor(i));
  asked_inputs_ = ~std::uint64_t{0};
  return tensors;
}

std::vector<Value> Call::values_from(std::size_t input) const {
  std::vector<Value> values;
  for (std::size_t i = input; i < count(); ++i) values.push_back(value(i));
  return values;
}

std::vector<Number> Call::elements(std::size_t input) const {
  const Value& given = value(input);
  if (const Known* known = given.known()) return known->elements;
  return known_of(given.tensor()).elements;
}
Shape Call::integers(std::size_t input) const {
  require(is_integer(dtype(input)) && rank(input) <= 1, "[onnx] input ", input, " is ",
          dtype(input), " [", shape(input), "]; a list of integers is wanted");
  Shape integers;
  for (const Number& each : elements(input)) integers.push_back(each.as_integer());
  return integers;
}
std::vector<int> Call::axes(std::size_t input) const {
  std::vector<int> axes;
  for (std::int64_t axis : integers(input)) {
    require(axis >= -64 && axis <= 64, "[onnx] input ", input, " has the axis ", axis);
    axes.push_back(static_cast<int>(axis));
  }
  return axes;
}
std::vector<double> Call::numbers(std::size_t input) const {
  std::vector<double> numbers;
  for (const Number& each : elements(input)) numbers.push_back(each.as_double());
  return numbers;
}
Number Call::scalar(std::size_t input) const {
  require(element_count(shape(input)) == 1, "[onnx] input ", input, " is [", shape(input),
          "]; one element is wanted");
  return elements(input)[0];
}

const AttributeValue* Call::find(std::string_view name) const {
  for (std::size_t i = 0; i < node_.attributes.size(); ++i)
    if (node_.attributes[i].name == name) {
      if (i < 64) asked_attributes_ |= std::uint64_t{1} << i;
      return &node_.attributes[i].value;
    }
  return nullptr;
}
void Call::refuse(std::string_view name, std::string_view reason) const {
  raise_error(concat("[onnx] the attribute \"", name, "\" ", reason));
}
template <typename T>
const T& Call::as(std::string_view name, std::string_view kind) const {
  const AttributeValue* value = find(name);
  if (value == nullptr) refuse(name, "is missing");
  auto* wanted = std::get_if<T>(value);
  if (wanted == nullptr) refuse(name, concat("is no ", kind));
  return *wanted;
}

std::int64_t Call::integer(std::string_view name, std::optional<std::int64_t> missing) const {
  return missing && !has(name) ? *missing : as<std::int64_t>(name, "integer");
}
int Call::axis(std::string_view name, std::optional<std::int64_t> missing) const {
  std::int64_t axis = integer(name, missing);
  if (axis < -64 || axis > 64) refuse(name, concat("is the axis ", axis));
  return static_cast<int>(axis);
}
bool Call::flag(std::string_view name, bool missing) const { return integer(name, missing) != 0; }
double Call::number(std::string_view name, std::optional<double> missing) const {
  return missing && !has(name) ? *missing : as<double>(name, "number");
}
std::string Call::text(std::string_view name, std::optional<std::string_view> missing) const {
  return missing && !has(name) ? std::string(*missing) : as<std::string>(name, "text");
}
Shape Call::integers(std::string_view name, const std::optional<Shape>& missing) const {
  if (missing && !has(name)) return *missing;
  return {as<std::vector<std::int64_t>>(name, "list of integers")};
}
std::vector<int> Call::axes(std::string_view name) const {
  std::vector<int> axes;
  for (std::int64_t axis : integers(name, Shape{})) {
    if (axis < -64 || axis > 64) refuse(name, concat("has the axis ", axis));
    axes.push_back(static_cast<int>(axis));
  }
  return axes;
}
std::vector<double> Call::numbers(std::string_view name,
                                  std::optional<std::vector<double>> missing) const {
  if (missing && !has(name)) return *missing;
  return as<std::vector<double>>(name, "list of numbers");
}
std::vector<std::string> Call::texts(std::string_view name) const {
  return has(name) ? as<std::vector<std::string>>(name, "list of texts")
                   : std::vector<std::string>();
}
Value Call::constant(std::string_view name) const { return as<Value>(name, "tensor"); }
DType Call::dtype(std::string_view name, std::optional<DType> missing) const {
  if (missing && !has(name)) return *missing;
  std::int64_t number = integer(name);
  auto dtype = dtype_of_number(number);
  if (!dtype)
    refuse(name, concat("is the element type ", number, " (", name_of_other(number),
                        "), which is not supported"));
  return *dtype;
}
const Graph& Call::graph(std::string_view name) const { return *as<Subgraph>(name, "graph"); }

int Call::within(std::int64_t axis, int rank) const {
  auto found = normalise_axis(static_cast<int>(std::clamp<std::int64_t>(axis, -1000, 1000)), rank);
  require(found.has_value(), "[onnx] axis ", axis, " is outside the rank ", rank);
  return *found;
}
int Call::axis_within(std::string_view name, std::optional<std::int64_t> missing, int rank) const {
  return within(axis(name, missing), rank);
}

void Call::refuse_unread() const {
  for (std::size_t i = 0; i < node_.attributes.size(); ++i) {
    bool was_asked = i < 64 && (asked_attributes_ >> i & 1) != 0;
    if (!was_asked) refuse(concat(excerpt(node_.attributes[i].name)), "is not supported");
  }
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
    bool was_asked = i >= 64 || (asked_inputs_ >> i & 1) != 0;
    require(was_asked || node_.inputs[i] == no_value, "[onnx] input ", i, " is not supported");
  }
}

}  // namespace tilewright::onnx
