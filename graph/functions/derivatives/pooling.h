// Derivatives of means and maxima over windows, under PyTorch's names (pooling/pooling.h).
//
// x is [N, C, rows, columns] or without N, and the gradient as the pooling's result; gives the
// gradient of x, whose elements alone the maximum looks at. Sums of 16 bits are carried in f32 and
// rounded once. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <source_location>

#include "graph/functions/pooling/pooling.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Each element gets a share of every window that it is in.
Tensor avg_pool2d_backward(const Tensor& gradient, const Tensor& x, const Shape& kernel,
                           const AveragePoolOptions& options = {},
                           std::source_location w = std::source_location::current());
Tensor adaptive_avg_pool2d_backward(const Tensor& gradient, const Tensor& x,
                                    std::source_location w = std::source_location::current());
// The sums of those elements of `gradient` that have the number of the element, within its plane of
// the last `rank` axes, in `places`: the gradient of a tensor of shape x whose maxima these were.
Tensor gradient_of_maxima(const Tensor& gradient, const Tensor& places, const Shape& x, int rank,
                          std::source_location w = std::source_location::current());
// The same for a pooling of these windows.
Tensor max_pool2d_with_indices_backward(const TensorOperand& gradient, const Tensor& x,
                                        const Tensor& indices, const Shape& kernel,
                                        const MaxPoolOptions& options = {});

}  // namespace tilewright
