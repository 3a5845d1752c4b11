// Derivatives of normalisations and of softmax, under PyTorch's names, by what their functions gave
// beside their results: means and inverse deviations (reducing/norms.h).
//
// Computed in f32 (f64 of f64) and rounded once, gradients of weights to the dtype of these. Misuse
// raises `Error`; safe to call from several threads.
#pragma once

#include <optional>
#include <source_location>

#include "graph/functions/derivatives/gradients.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Of native_layer_norm: `mean` and `rstd` have an element for each row of x; weight and bias have
// the shape of the last axes, `normalized_shape`, or are undefined.
struct LayerNormOperands {
  Tensor x;
  Shape normalized_shape;
  Tensor mean, rstd, weight, bias;
};
OperandGradients layer_norm_backward(const Tensor& gradient, const LayerNormOperands& operands,
                                     const WantedGradients& wanted = {},
                                     std::source_location w = std::source_location::current());

// Of native_group_norm: x [N, C, ..], `mean` and `rstd` [N, groups], weight [C] or undefined.
struct GroupNormOperands {
  Tensor x, mean, rstd, weight;
  std::int64_t groups;
};
OperandGradients group_norm_backward(const Tensor& gradient, const GroupNormOperands& operands,
                                     const WantedGradients& wanted = {},
                                     std::source_location w = std::source_location::current());

// x [N, C, ..], all others [C]. In training `mean` and `rstd` are those of the batch, through which
// gradients flow; else mean and variance are constants, those that were learned.
struct BatchNormOperands {
  Tensor x, mean, rstd = {}, variance = {}, weight = {};
  double eps = 1e-5;  // beside a variance
  bool training = true;
};
OperandGradients batch_norm_backward(const Tensor& gradient, const BatchNormOperands& operands,
                                     const WantedGradients& wanted = {},
                                     std::source_location w = std::source_location::current());

// Along an axis, by the result y; in the gradient's dtype if none is given.
Tensor softmax_backward(const Tensor& gradient, const Tensor& y, int axis,
                        std::optional<DType> dtype = {},
                        std::source_location w = std::source_location::current());
Tensor log_softmax_backward(const Tensor& gradient, const Tensor& y, int axis,
                            std::optional<DType> dtype = {},
                            std::source_location w = std::source_location::current());

}  // namespace tilewright
