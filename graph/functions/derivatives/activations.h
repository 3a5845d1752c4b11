// Derivatives of activations, element by element, under PyTorch's names: from the gradient of a
// result to that of the operand.
//
// Apart from the activations themselves, so that each is the rule of its function and no program
// pays for those it does not differentiate. `gradient` and x (or the result y, where the derivative
// is simpler in it) are floating and have one shape, or an `Error` says so. Formulas are those of
// PyTorch's derivatives.yaml; 16 bits are computed in f32 and rounded once to the gradient's dtype.
// Safe to call from several threads.
#pragma once

#include <source_location>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Where x is above the threshold, or NaN; 0 elsewhere, also of infinite gradients.
Tensor threshold_backward(const Tensor& gradient, const Tensor& x, const TensorOperand& threshold,
                          std::source_location w = std::source_location::current());
// Where x is between the bounds.
Tensor hardtanh_backward(const Tensor& gradient, const Tensor& x, const TensorOperand& min_val,
                         const TensorOperand& max_val,
                         std::source_location w = std::source_location::current());
Tensor leaky_relu_backward(const Tensor& gradient, const Tensor& x, double negative_slope = 0.01,
                           std::source_location w = std::source_location::current());
Tensor hardsigmoid_backward(const Tensor& gradient, const Tensor& x,
                            std::source_location w = std::source_location::current());
Tensor hardswish_backward(const Tensor& gradient, const Tensor& x,
                          std::source_location w = std::source_location::current());
// By the result y.
Tensor sigmoid_backward(const Tensor& gradient, const Tensor& y,
                        std::source_location w = std::source_location::current());
Tensor tanh_backward(const Tensor& gradient, const Tensor& y,
                     std::source_location w = std::source_location::current());
Tensor silu_backward(const Tensor& gradient, const Tensor& x,
                     std::source_location w = std::source_location::current());
Tensor logsigmoid_backward(const Tensor& gradient, const Tensor& x,
                           std::source_location w = std::source_location::current());
Tensor gelu_backward(const Tensor& gradient, const Tensor& x, GeluForm form = GeluForm::erf,
                     std::source_location w = std::source_location::current());
// By x, or by the result where `of_result`: then alpha must not be negative.
struct EluGradientOptions {
  double alpha = 1, scale = 1, input_scale = 1;
  bool of_result = false;
};
Tensor elu_backward(const Tensor& gradient, const Tensor& x_or_result,
                    const EluGradientOptions& options = {},
                    std::source_location w = std::source_location::current());
Tensor softplus_backward(const Tensor& gradient, const Tensor& x, double beta = 1,
                         double threshold = 20,
                         std::source_location w = std::source_location::current());
// {of x, of the weight}: both in x's shape, to which the weight broadcasts; that of the weight is
// still to be summed (sum_to_size).
std::pair<Tensor, Tensor> prelu_backward(const Tensor& gradient, const Tensor& x,
                                         const Tensor& weight,
                                         std::source_location w = std::source_location::current());
// By the mask that native_dropout gives, and 1 / (1 - p).
Tensor dropout_backward(const Tensor& gradient, const Tensor& mask, double scale,
                        std::source_location w = std::source_location::current());

}  // namespace tilewright
