// Means, maxima and norms over windows that lie regularly over the last one to three axes, under
// the names of torch.nn.functional.
//
// x is [N, C, sizes..] or [C, sizes..]. Lists have a value an axis, or one for all axes; an empty
// stride is that of the kernel, so that windows lie side by side. With `ceil_mode` there is a last
// window that ends behind the padding, if it begins in x or what is in front of it. Windows of up
// to 64 places are slices that fuse; those of more are gathered first. Sums of 16 bits are carried
// in f32 and rounded once.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct AveragePoolOptions {
  Sizes stride = {};
  Sizes padding = {};  // zeros on either side, half a kernel at most; 0
  bool ceil_mode = false;
  bool count_include_pad = true;                      // whether the padding counts as elements
  std::optional<std::int64_t> divisor_override = {};  // of sums, instead of their counts
};
Tensor avg_pool1d(const TensorOperand& x, const Sizes& kernel,
                  const AveragePoolOptions& options = {});
Tensor avg_pool2d(const TensorOperand& x, const Sizes& kernel,
                  const AveragePoolOptions& options = {});
Tensor avg_pool3d(const TensorOperand& x, const Sizes& kernel,
                  const AveragePoolOptions& options = {});

struct MaxPoolOptions {
  Sizes stride = {};
  Sizes padding = {};   // places on either side that never win, half a kernel at most; 0
  Sizes dilation = {};  // 1
  bool ceil_mode = false;
};
Tensor max_pool1d(const TensorOperand& x, const Sizes& kernel, const MaxPoolOptions& options = {});
Tensor max_pool2d(const TensorOperand& x, const Sizes& kernel, const MaxPoolOptions& options = {});
Tensor max_pool3d(const TensorOperand& x, const Sizes& kernel, const MaxPoolOptions& options = {});
// {values, indices}: i64 the number of the greatest among the elements of the pooled axes, of the
// first of equals. A NaN wins, of several the last.
std::pair<Tensor, Tensor> max_pool1d_with_indices(const TensorOperand& x, const Sizes& kernel,
                                                  const MaxPoolOptions& options = {});
std::pair<Tensor, Tensor> max_pool2d_with_indices(const TensorOperand& x, const Sizes& kernel,
                                                  const MaxPoolOptions& options = {});
std::pair<Tensor, Tensor> max_pool3d_with_indices(const TensorOperand& x, const Sizes& kernel,
                                                  const MaxPoolOptions& options = {});

// (sum of x^order)^(1 / order) over windows, without padding; floats.
struct NormPoolOptions {
  Sizes stride = {};
  bool ceil_mode = false;
};
Tensor lp_pool1d(const TensorOperand& x, double order, const Sizes& kernel,
                 const NormPoolOptions& options = {});
Tensor lp_pool2d(const TensorOperand& x, double order, const Sizes& kernel,
                 const NormPoolOptions& options = {});
Tensor lp_pool3d(const TensorOperand& x, double order, const Sizes& kernel,
                 const NormPoolOptions& options = {});

}  // namespace tilewright
