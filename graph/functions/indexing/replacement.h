// The replacement of a tensor's elements: others of its dtype, or one number for all.
#pragma once

#include <source_location>
#include <string_view>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Raises `Error` unless both have one dtype.
void require_dtype_of(const Tensor& x, const Tensor& source, std::string_view operation,
                      std::source_location w);
// A number, converted to the dtype, or a tensor without axes, as a tensor without axes of x's
// dtype; raises `Error` for a tensor of a higher kind (floating over integer over bool).
Tensor filler(const Tensor& x, const TensorOperand& value, std::string_view operation,
              std::source_location w);

}  // namespace tilewright::graph
