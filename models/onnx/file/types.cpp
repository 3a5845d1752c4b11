#include "models/onnx/file/types.h"

#include <algorithm>

#include "models/files/reader.h"
#include "models/onnx/file/tensors.h"
#include "models/onnx/program/dtype_numbers.h"

namespace tilewright::onnx {
namespace {

using json::excerpt;
using programs::SignatureInput;
using programs::SizeExpression;

// An axis without a size or a name has a symbol of its own.
SizeExpression read_size(Fields size, const SignatureInput& input) {
  SizeExpression result;
  result.kind = SizeExpression::Kind::symbol;
  result.name = concat(input.name, ".", input.facts.sizes.size());
  while (size.next()) {
    if (size.number() == 1) {
      std::int64_t number = size.integer();
      if (number < 0) continue;
      result.kind = SizeExpression::Kind::integer;
      result.integer = number;
    }
    if (size.number() == 2 && !size.text().empty()) result.name = size.text();
  }
  return result;
}

void read_type(Fields type, SignatureInput& input, const Place& place) {
  std::int64_t number = 0;
  while (type.next()) {
    if (type.number() == 1) number = type.integer();
    if (type.number() != 2) continue;
    input.has_rank = true;
    Fields shape = type.message();
    while (shape.next())
      if (shape.number() == 1) {
        place.expect(input.facts.sizes.size() < 32, "input \"", excerpt(input.name),
                     "\" has more than 32 axes");
        input.facts.sizes.push_back(read_size(shape.message(), input));
      }
  }
  input.facts.dtype = dtype_of(number, place);
}

void read_tensor_type(Fields type, Declared& declared, const Place& place) {
  while (type.next()) {
    if (type.number() == 1) declared.dtype = dtype_of_number(type.integer());
    if (type.number() != 2) continue;
    auto& sizes = declared.sizes.emplace();
    Fields shape = type.message();
    while (shape.next()) {
      if (shape.number() != 1) continue;
      place.expect(sizes.size() < 32, "value \"", excerpt(declared.name),
                   "\" has more than 32 axes");
      sizes.push_back(Declared::any_size);
      Fields size = shape.message();
      while (size.next())
        if (size.number() == 1) sizes.back() = std::max(size.integer(), Declared::any_size);
    }
  }
}

}  // namespace

std::string_view value_name(Fields value) {
  std::string_view name;
  while (value.next())
    if (value.number() == 1) name = value.text();
  return name;
}

SignatureInput read_input(Fields value, const Place& place) {
  SignatureInput input{std::string(value_name(value)), {f32, {}}, false};
  bool has_type = false;
  while (value.next())
    if (value.number() == 2) {
      Fields type = value.message();
      while (type.next()) {
        place.expect(type.number() == 1 || type.number() == 6, "input \"", excerpt(input.name),
                     "\" is no tensor, but a sequence, a map or the like, which is not "
                     "supported");
        if (type.number() == 1) read_type(type.message(), input, place);
        has_type = has_type || type.number() == 1;
      }
    }
  place.expect(has_type, "input \"", excerpt(input.name), "\" has no type");
  return input;
}

Declared read_declared(Fields value, const Place& place) {
  Declared declared;
  while (value.next()) {
    if (value.number() == 1) declared.name = value.text();
    if (value.number() != 2) continue;
    Fields type = value.message();
    while (type.next())
      if (type.number() == 1) read_tensor_type(type.message(), declared, place);
  }
  return declared;
}

}  // namespace tilewright::onnx
