// Maxima put back where they were taken from, and maxima of windows that lie at random, under
// PyTorch's names.
//
// x is [N, C, sizes..] or [C, sizes..], indices are those that the maxima gave: the number of an
// element among those of the pooled axes, i64. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <source_location>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Each element at its index, zeros elsewhere: the last axes become `sizes`.
Tensor max_unpool1d(const TensorOperand& x, const Tensor& indices, const Shape& sizes);
Tensor max_unpool2d(const TensorOperand& x, const Tensor& indices, const Shape& sizes);
Tensor max_unpool3d(const TensorOperand& x, const Tensor& indices, const Shape& sizes);

// {values, indices} of as many windows as `sizes` says, whose steps along an axis are one of two
// neighbouring integers, by random numbers between 0 and 1 [N, C, axes], of which the first is that
// of the last axis (of three axes that of the first one): B. Graham, Fractional max-pooling, 2014.
std::pair<Tensor, Tensor> fractional_max_pool2d(const TensorOperand& x, const Shape& kernel,
                                                const Shape& sizes, const Tensor& random_samples);
std::pair<Tensor, Tensor> fractional_max_pool3d(const TensorOperand& x, const Shape& kernel,
                                                const Shape& sizes, const Tensor& random_samples);

}  // namespace tilewright
