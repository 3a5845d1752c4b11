// Element types by the numbers that ONNX gives them (TensorProto.DataType).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/base/dtype.h"

namespace tilewright::onnx {

// Nothing where this library has no such type: strings, complex numbers, those of 4 bits.
std::optional<DType> dtype_of_number(std::int64_t number);
// ONNX's name of a number for a type that is missing here: "string"; "unknown".
std::string_view name_of_other(std::int64_t number);

}  // namespace tilewright::onnx
