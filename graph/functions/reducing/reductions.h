// Reductions that are made of those of tensor.h: norms, logarithms of sums, counts, and sums that
// leave out NaN, under PyTorch's names.
//
// Over the given axes, or all axes by default; they become 1 or go away. Sums of 16 bits are
// carried in f32 and rounded once. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <concepts>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The variance over n - correction, and the mean.
std::pair<Tensor, Tensor> corrected_var_mean(const TensorOperand& x, const Axes& axes,
                                             double correction, bool keep_dims);
Tensor corrected_stddev(const TensorOperand& x, const Axes& axes, double correction,
                        bool keep_dims);

// The elements are converted before they are reduced, and the result is of that dtype.
Tensor sum(const TensorOperand& x, const Axes& axes, bool keep_dims, DType dtype);
Tensor prod(const TensorOperand& x, const Axes& axes, bool keep_dims, DType dtype);
Tensor mean(const TensorOperand& x, const Axes& axes, bool keep_dims, DType dtype);

// The greatest and the least of all elements, of bool too; of none an Error.
Tensor max(const TensorOperand& x);
Tensor min(const TensorOperand& x);
// Variances and their roots over n - correction with a fraction as correction, at least over 0.
template <std::floating_point Correction>
Tensor var(const TensorOperand& x, const Axes& axes, Correction correction,
           bool keep_dims = false) {
  return corrected_var_mean(x, axes, correction, keep_dims).first;
}
template <std::floating_point Correction>
std::pair<Tensor, Tensor> var_mean(const TensorOperand& x, const Axes& axes, Correction correction,
                                   bool keep_dims = false) {
  return corrected_var_mean(x, axes, correction, keep_dims);
}
template <std::floating_point Correction>
Tensor stddev(const TensorOperand& x, const Axes& axes, Correction correction,
              bool keep_dims = false) {
  return corrected_stddev(x, axes, correction, keep_dims);
}
// {stddev, mean}; PyTorch's std_mean.
std::pair<Tensor, Tensor> std_mean(const TensorOperand& x, const Axes& axes = {},
                                   std::int64_t correction = 1, bool keep_dims = false);

// log(sum(exp(x))) without an overflow; of no elements -infinity. Integers are taken as f32.
Tensor logsumexp(const TensorOperand& x, const Axes& axes, bool keep_dims = false);
// i64: of elements that are not 0, or true.
Tensor count_nonzero(const TensorOperand& x, const Axes& axes = {});
// NaN count nothing. A mean of NaN alone is NaN; it is for floats.
Tensor nansum(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor nanmean(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
// Summed to a shape that broadcasts to x's, as a gradient goes back through a broadcast.
Tensor sum_to_size(const TensorOperand& x, const Shape& shape);

// sum(|x|^order)^(1 / order) of floats; of order 0 the count of elements that are not 0, of the
// infinities the greatest and the least magnitude. PyTorch's linalg.vector_norm and norm, its
// Frobenius norm with order 2.
Tensor linalg_vector_norm(const TensorOperand& x, double order = 2, const Axes& axes = {},
                          bool keep_dims = false);
Tensor norm(const TensorOperand& x, double order = 2, const Axes& axes = {},
            bool keep_dims = false);
// torch.nn.functional.normalize: x over its norm along the axis, or over `least` where that is
// greater.
Tensor normalize(const TensorOperand& x, double order = 2, int axis = 1, double least = 1e-12);
// Covariances over n - correction of variables [variables, observations], floats, or of one
// [observations]; and correlations, which are these over the deviations of both.
Tensor cov(const TensorOperand& x, std::int64_t correction = 1);
Tensor corrcoef(const TensorOperand& x);
// Each part of x along the axis scaled to a norm of at most `most`, of that order; floats.
Tensor renorm(const TensorOperand& x, double order, int axis, double most);
// The norm of a - b.
Tensor dist(const TensorOperand& a, const TensorOperand& b, double order = 2);

}  // namespace tilewright
