#include "models/exported/program/fields.h"

#include <limits>

namespace tilewright::exported {
namespace {

std::optional<double> special_number(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return -infinity;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace

std::optional<DType> dtype_of_number(std::int64_t number) {
#define TILEWRIGHT_DTYPE(name, host, bits, kind, digits, exponent, bias, storage, code, pytorch) \
  if (pytorch != 0 && number == pytorch) return DType::name;
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
  // Numbers that PyTorch's schema has gained later than the others.
  constexpr std::int64_t number_of_u32 = 34, number_of_u64 = 35;
  if (number == number_of_u32) return DType::u32;
  if (number == number_of_u64) return DType::u64;
  return std::nullopt;
}

const json::Node& Fields::member(const json::Node& object, std::string_view name) const {
  expect(object.kind == json::Node::Kind::object, "an object with \"", name, "\" is wanted; it is ",
         describe(object));
  const json::Node* found = object.find(name);
  expect(found != nullptr, "\"", name, "\" is missing");
  return *found;
}

const json::Node* Fields::optional(const json::Node& object, std::string_view name) const {
  expect(object.kind == json::Node::Kind::object, "an object is wanted; it is ", describe(object));
  const json::Node* found = object.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string Fields::text(const json::Node& object, std::string_view name) const {
  return as_text(member(object, name), name);
}
std::int64_t Fields::integer(const json::Node& object, std::string_view name) const {
  return as_integer(member(object, name), name);
}
const std::vector<json::Node>& Fields::list(const json::Node& object, std::string_view name) const {
  return as_list(member(object, name), name);
}
const std::vector<std::pair<std::string, json::Node>>& Fields::members(
    const json::Node& object, std::string_view name) const {
  const json::Node& value = member(object, name);
  expect(value.kind == json::Node::Kind::object, "\"", name, "\" is ", describe(value),
         "; an object is wanted");
  return value.members;
}

std::string Fields::as_text(const json::Node& value, std::string_view name) const {
  expect(value.is_string(), "\"", name, "\" is ", describe(value), "; a string is wanted");
  return value.scalar.string;
}
std::int64_t Fields::as_integer(const json::Node& value, std::string_view name) const {
  expect(value.is_integer(), "\"", name, "\" is ", describe(value), "; an integer is wanted");
  return value.scalar.integer;
}
double Fields::as_number(const json::Node& value, std::string_view name) const {
  using Kind = json::Scalar::Kind;
  if (value.is_string())
    if (auto special = special_number(value.scalar.string)) return *special;
  bool is_number = value.kind == json::Node::Kind::scalar &&
                   (value.scalar.kind == Kind::integer || value.scalar.kind == Kind::real);
  expect(is_number, "\"", name, "\" is ", describe(value), "; a number is wanted");
  return value.scalar.real;
}
bool Fields::as_flag(const json::Node& value, std::string_view name) const {
  expect(value.kind == json::Node::Kind::scalar && value.scalar.kind == json::Scalar::Kind::boolean,
         "\"", name, "\" is ", describe(value), "; true or false is wanted");
  return value.scalar.boolean;
}
const std::vector<json::Node>& Fields::as_list(const json::Node& value,
                                               std::string_view name) const {
  expect(value.kind == json::Node::Kind::array, "\"", name, "\" is ", describe(value),
         "; an array is wanted");
  return value.items;
}
ElementType Fields::as_element_type(const json::Node& value, std::string_view name) const {
  constexpr std::int64_t complex32 = 9, complex64 = 10, complex128 = 11;
  std::int64_t number = as_integer(value, name);
  if (number == complex64) return {f32, true};
  if (number == complex128) return {f64, true};
  auto dtype = dtype_of_number(number);
  expect(dtype.has_value(), "\"", name, "\" is the element type ", number,
         number == complex32 ? " (complex numbers of floats of 16 bits)" : "",
         ", which is not supported");
  return {*dtype};
}
const std::pair<std::string, json::Node>& Fields::as_choice(const json::Node& value,
                                                            std::string_view name) const {
  expect(value.kind == json::Node::Kind::object && value.members.size() == 1, "\"", name, "\" is ",
         describe(value), "; it must be an object with one member, which names its kind");
  return value.members.front();
}

}  // namespace tilewright::exported
