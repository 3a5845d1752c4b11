// Integers of 8 bits with scales and zero points among the inputs of a call, as ONNX Runtime's
// operators have them: their checks, and their products.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// The integers of that input.
Tensor integers_of(const Call& call, std::size_t input);
// A scale, f32, and a zero point of that type, as f32 and 0 where it is left out: one for all,
// without axes.
Tensor scale_of(const Call& call, std::size_t input);
Tensor zero_of(const Call& call, std::size_t input, DType dtype);

// One scale for all or for each column of a matrix.
Tensor scales_of_columns(const Call& call, std::size_t input, std::int64_t columns);
// The matrix less its zero point, one for all or for each column, as i32.
Tensor less_zero_of_columns(const Call& call, const Tensor& matrix, std::size_t zero_input);
void require_matrices(const Tensor& a, const Tensor& b);

// a times b, f32: exact sums of integers, times both scales. The members are numbers of inputs.
struct ProductInputs {
  std::size_t a, b, a_scale, b_scale, a_zero, b_zero;
};
Tensor product_of_integers(const Call& call, const ProductInputs& inputs);

}  // namespace tilewright::onnx
