// Normalisations whose statistics, parameters and results have other dtypes than x, and whose
// parameters broadcast with it, as ONNX has them; those of PyTorch are in
// graph/functions/reducing/norms.h.
//
// Statistics of 16 bits are computed in f32 and stay so. Misuse raises `Error`; safe to call from
// several threads.
#pragma once

#include <optional>
#include <vector>

#include "graph/functions/reducing/norms.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Over the axes from `axis` on, which statistics keep with size 1, in x's dtype. The weight and the
// bias, which may be left out, broadcast with x.
NormResult mixed_layer_norm(const TensorOperand& x, int axis, const Tensor& weight,
                            const Tensor& bias = {}, double eps = 1e-5);

struct MixedRmsNormOptions {
  double eps = 1e-5;
  std::optional<DType> computed_in = {};  // by default f32 for 16 bits, else x's dtype
  // The quotient is rounded to x's dtype before it is multiplied, and the result has that of the
  // weight; else all is rounded once to x's dtype.
  bool has_dtype_of_weight = false;
};
struct RmsNormResult {
  Tensor output, rstd;  // rstd is 1 / sqrt(mean(x^2) + eps)
};
RmsNormResult mixed_rms_norm(const TensorOperand& x, int axis, const Tensor& weight,
                             const MixedRmsNormOptions& options = {});

struct MixedBatchNormOptions {
  double kept = 0.9;  // of the running statistics; the rest is that of this batch
  double eps = 1e-5;
};
// Over each channel of x [N, C, ..], by parameters [C]: with the statistics of this batch and the
// running ones moved towards these, all variances being over the count. `rstd` is undefined.
BatchNormResult mixed_batch_norm(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
                                 const Tensor& running_mean, const Tensor& running_variance,
                                 const MixedBatchNormOptions& options = {});

// x less its mean over the axes, over its deviation and 1e-9: ONNX's MeanVarianceNormalization.
Tensor mean_variance_norm(const TensorOperand& x, const std::vector<int>& axes);
// x over its norm along the axis; zeros where that is 0.
Tensor normalize_or_zero(const TensorOperand& x, double order, int axis);

}  // namespace tilewright
