// The declarations of values in a model, before they are computed: their types and sizes, as far as
// given (value_info, and the graph's outputs).
//
// Nothing is computed by these, and tools that change a model leave old ones behind: for sizes of
// inner values the computed ones count. But users of a model rely on what it declares of its
// outputs, so sizes there that differ are an Error, as are dtypes anywhere.
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
  bool is_output = false;                          // of the program

  bool says_something() const { return dtype || sizes; }
};

// Raises `Error` that names the value, its declaration and its type, where a tensor is of another
// dtype or, if it is an output and unless `any_sizes`, has another rank or size. Sequences are not
// looked at.
void require_declared(const Declared& declared, const Value& value, bool any_sizes);
// True if it has the declared rank and sizes, as far as they are given.
bool has_declared_sizes(const Declared& declared, const Value& value);

}  // namespace tilewright::onnx
