// Normalisations of networks: of groups of elements to mean 0 and variance 1, under PyTorch's
// names.
//
// Apart from the layer_norm and rms_norm of tensor.h, which are of the last axis. x is floating;
// [N, C, ..] has channels as its axis 1. Weights and biases may be left out, one without the other;
// they have the dtype of x or, beside 16 bits, f32. Statistics are computed in f32 (f64 of f64);
// those that are given back are so too for batches, and else of x's dtype, or f32 where a weight or
// bias is, as PyTorch's are on the host. A variance is that of all elements, over their count,
// unless noted otherwise. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <optional>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Layer, group, instance and batch norms of f32 square deviations in f32: above 1e19 the squares
// overflow and the result is 0. Convert larger values with to(f64).
struct NormResult {
  Tensor output, mean, rstd;  // rstd is 1 / sqrt(variance + eps)
};

// Over the last axes, which have the sizes `normalized_shape`; weight and bias have that shape. The
// statistics of native_layer_norm keep these axes with size 1.
Tensor layer_norm(const TensorOperand& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
NormResult native_layer_norm(const TensorOperand& x, const Shape& normalized_shape,
                             const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
// x / sqrt(mean(x^2) + eps) over the last axes; eps is by default 2^-52 for f64 and 2^-23 for all
// other dtypes, the machine epsilon of the dtype that the mean is computed in, as in PyTorch.
Tensor rms_norm(const TensorOperand& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// Normalises x [N, C, ..] over each of `groups` equal groups of channels of each of N; weight and
// bias [C]. Statistics are [N, groups].
Tensor group_norm(const TensorOperand& x, std::int64_t groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
NormResult native_group_norm(const TensorOperand& x, std::int64_t groups, const Tensor& weight = {},
                             const Tensor& bias = {}, double eps = 1e-5);
// Over each channel of each of N.
Tensor instance_norm(const TensorOperand& x, const Tensor& weight = {}, const Tensor& bias = {},
                     double eps = 1e-5);

// Over each channel, of x [N, C, ..] or [N, C]. PyTorch's _native_batch_norm_legit_no_training:
// with statistics that are known, [C] each.
Tensor batch_norm_inference(const TensorOperand& x, const Tensor& mean, const Tensor& variance,
                            const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
struct BatchNormResult {
  Tensor output, mean, rstd;              // of this batch, [C]
  Tensor running_mean, running_variance;  // absent where none were given
};
struct BatchNormOptions {
  double momentum = 0.1;  // the part of this batch in the running statistics
  double eps = 1e-5;
};
// _native_batch_norm_legit_functional: with the statistics of this batch, and the running ones
// moved towards these (the variance over the count less 1). Nothing is written to.
BatchNormResult batch_norm_training(const TensorOperand& x, const Tensor& weight = {},
                                    const Tensor& bias = {}, const Tensor& running_mean = {},
                                    const Tensor& running_variance = {},
                                    const BatchNormOptions& options = {});
// torch.nn.functional.batch_norm: either of both; training writes to the running statistics.
Tensor batch_norm(const TensorOperand& x, Tensor running_mean, Tensor running_variance,
                  const Tensor& weight = {}, const Tensor& bias = {}, bool training = false,
                  const BatchNormOptions& options = {});

struct LocalResponseOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
  bool more_behind = false;  // with an even size there is one more channel behind, as ONNX has it
};
// x / (k + alpha mean(x^2))^beta over `size` channels around each, those outside being 0.
Tensor local_response_norm(const TensorOperand& x, std::int64_t size,
                           const LocalResponseOptions& options = {});

// Converts the elements to the dtype first; softmin is that of -x.
Tensor softmax(const TensorOperand& x, int axis, DType dtype);
Tensor log_softmax(const TensorOperand& x, int axis, DType dtype);
Tensor softmin(const TensorOperand& x, int axis);

// torch.nn.functional.instance_norm: by the statistics of each instance, towards whose mean over
// the batch those that were learned move, or by these. Either may be undefined.
Tensor instance_norm(const TensorOperand& x, Tensor running_mean, Tensor running_variance,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     const BatchNormOptions& options = {});
// PyTorch's _weight_norm: v scaled to the norm g of each part along the axis; -1: of all of it.
Tensor weight_norm(const TensorOperand& v, const Tensor& g, int axis = 0);
// softmax, but 0 where a row is -infinity everywhere.
Tensor safe_softmax(const TensorOperand& x, int axis);

}  // namespace tilewright
