// Integers of 8 bits with scales and zero points among the inputs of a call, as ONNX Runtime's
// operators have them: what is checked of them. What is computed of them is in
// graph/functions/quantisation/rescaled.h.
#pragma once

#include "graph/functions/quantisation/rescaled.h"
#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// The integers of that input.
Tensor integers_of(const Call& call, std::size_t input);
// A scale, f32, and a zero point of that type, as f32 and 0 where it is left out: one for all,
// without axes.
Tensor scale_of(const Call& call, std::size_t input);
Tensor zero_of(const Call& call, std::size_t input, DType dtype);
// Those of three inputs from that one on.
ScaledIntegers integers_from(const Call& call, std::size_t input);

// One scale for all or for each column of a matrix; and zero points of the matrix's type, or none.
Tensor scales_of_columns(const Call& call, std::size_t input, std::int64_t columns);
Tensor zeros_of_columns(const Call& call, const Tensor& matrix, std::size_t zero_input);

// a times b, f32. The members are numbers of inputs.
struct ProductInputs {
  std::size_t a, b, a_scale, b_scale, a_zero, b_zero;
};
Tensor product_of_integers(const Call& call, const ProductInputs& inputs, const Tensor& bias = {});

}  // namespace tilewright::onnx
