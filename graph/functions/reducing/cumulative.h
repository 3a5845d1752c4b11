// Sums, products and extrema up to each element of an axis, under PyTorch's names.
//
// All but `logcumsumexp` are passes over memory of an operation of their own (Op::cumulate). A
// tensor without axes may be given axis 0 or -1. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <optional>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// In `dtype`, to which elements are converted first; else integers and bool give i64. Those of 16
// bits are carried in f32.
Tensor cumsum(const TensorOperand& x, int axis, std::optional<DType> dtype = {});
Tensor cumprod(const TensorOperand& x, int axis, std::optional<DType> dtype = {});
// log(cumsum(exp(x))) without an overflow, of floats.
Tensor logcumsumexp(const TensorOperand& x, int axis);
// {values, indices}: the greatest or the least so far, and the place of the last of equals, i64. A
// NaN wins from there on.
std::pair<Tensor, Tensor> cummax(const TensorOperand& x, int axis);
std::pair<Tensor, Tensor> cummin(const TensorOperand& x, int axis);

}  // namespace tilewright
