// Elements of a tensor that lie regularly, diagonals, windows, strides, and a tensor with these
// replaced, under PyTorch's names. There the first are views; here they are copies.
//
// The replacement is of x's dtype and of the sizes of the replaced part. Misuse raises `Error`;
// safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The other axes of x, then the elements (i, i + offset) of the axes a and b.
Tensor diagonal(const TensorOperand& x, std::int64_t offset = 0, int a = 0, int b = 1);
Tensor diagonal_scatter(const TensorOperand& x, const Tensor& source, std::int64_t offset = 0,
                        int a = 0, int b = 1);
// Of these sizes: the element whose number, row-major in x, is offset + the sum of place * stride.
Tensor as_strided(const TensorOperand& x, const Shape& sizes, const Strides& strides,
                  std::int64_t offset = 0);
Tensor as_strided_scatter(const TensorOperand& x, const Tensor& source, const Shape& sizes,
                          const Strides& strides, std::int64_t offset = 0);
// The windows of `size` elements of an axis that begin every `step`: the axis has a place for each
// of them, and their elements are a new last axis. Tensor.unfold.
Tensor unfold(const TensorOperand& x, int axis, std::int64_t size, std::int64_t step);
// x with the part that Tensor::slice, or select, would return replaced.
Tensor slice_scatter(const TensorOperand& x, const Tensor& source, int axis = 0,
                     std::optional<std::int64_t> start = {}, std::optional<std::int64_t> end = {},
                     std::int64_t step = 1);
Tensor select_scatter(const TensorOperand& x, const Tensor& source, int axis, std::int64_t index);

}  // namespace tilewright
