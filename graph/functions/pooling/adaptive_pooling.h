// Means and maxima over the parts that each of the last one to three axes is divided into, under
// the names of torch.nn.functional.
//
// x is [N, C, sizes..] or [C, sizes..]; `parts` has a number an axis, or one for all axes. Part i
// of n of an axis of s elements goes from i s / n, rounded down, to (i + 1) s / n, rounded up, so
// that parts may share elements. Axes are reduced one after the other. Sums of 16 bits are carried
// in f32 and rounded once. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor adaptive_avg_pool1d(const TensorOperand& x, const Sizes& parts);
Tensor adaptive_avg_pool2d(const TensorOperand& x, const Sizes& parts);
Tensor adaptive_avg_pool3d(const TensorOperand& x, const Sizes& parts);
// {values, indices}: i64 the number of the greatest among the elements of the pooled axes, of the
// first of equals. A NaN wins, of several the last.
std::pair<Tensor, Tensor> adaptive_max_pool1d(const TensorOperand& x, const Sizes& parts);
std::pair<Tensor, Tensor> adaptive_max_pool2d(const TensorOperand& x, const Sizes& parts);
std::pair<Tensor, Tensor> adaptive_max_pool3d(const TensorOperand& x, const Sizes& parts);

}  // namespace tilewright
