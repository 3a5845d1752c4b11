// The declarations of values in a model, before they are computed: their types and sizes, as far as
// given (value_info, and the graph's outputs).
//
// Nothing is computed by these, and tools that change a model leave old ones behind, so the sizes
// that count are the computed ones, as in ONNX Runtime, which warns. Another dtype is an Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/program/value.h"

namespace tilewright::onnx {

struct Declared {
  static constexpr std::int64_t any_size = -1;  // of an axis that has a name, or nothing

  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::int64_t>> sizes;  // nothing: of any rank

  bool says_something() const { return dtype || sizes; }
};

// Raises `Error` that names the value, its declaration and its type, where a tensor is of another
// dtype. Sequences are not looked at.
void require_declared(const Declared& declared, const Value& value);

}  // namespace tilewright::onnx
