// Reductions whose results have the dtype of their operand, as ONNX has them. Integers are summed
// in their dtype; their means, lengths and logarithms are computed in f64 and cut off. 16 bits are
// carried in f32 and rounded once.
//
// Over the given axes, or all axes by default; they become 1 or go away. Misuse raises `Error`;
// safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright::own_dtype {

Tensor sum(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor prod(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor mean(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
// The sums of magnitudes and of squares, the root of the latter, and the logarithms of the sums of
// elements and of their exponentials.
Tensor l1_norm(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor sum_of_squares(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor l2_norm(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor log_sum(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor logsumexp(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
// For bool too. Extrema of no elements are the ends of the dtype; for u64 they are an `Error`.
Tensor amax(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor amin(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);

struct CumsumOptions {
  bool exclusive = false;  // each sum is without its own element
  bool reverse = false;    // from the end of the axis
};
Tensor cumsum(const TensorOperand& x, int axis, const CumsumOptions& options = {});

}  // namespace tilewright::own_dtype
