// Derivatives of losses, under PyTorch's names: from the gradient of a loss to that of its first
// operand.
//
// The gradient has x's shape where nothing was reduced, else it has one element. Computed in f32
// (f64 of f64) and rounded once to x's dtype. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor mse_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                         LossReduction reduction = LossReduction::mean,
                         std::source_location w = std::source_location::current());
// A square up to a distance of beta, or delta, and a line from there on.
Tensor smooth_l1_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                               LossReduction reduction = LossReduction::mean, double beta = 1,
                               std::source_location w = std::source_location::current());
Tensor huber_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                           LossReduction reduction = LossReduction::mean, double delta = 1,
                           std::source_location w = std::source_location::current());
// The weight broadcasts to x, or is undefined.
Tensor binary_cross_entropy_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                                     const Tensor& weight = {},
                                     LossReduction reduction = LossReduction::mean,
                                     std::source_location w = std::source_location::current());

struct LikelihoodGradientOptions {
  Tensor weight = {};        // [C], or undefined
  Tensor total_weight = {};  // what a mean was divided by, of one element
  std::int64_t ignore_index = -100;
  LossReduction reduction = LossReduction::mean;
};
// Scores x [N, C, places..], or [C]; of each place the target's score alone has a gradient. A
// target outside the classes is an Error at once, and inside a compiled function as far as
// Options::index_checks says.
Tensor nll_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                         const LikelihoodGradientOptions& options,
                         std::source_location w = std::source_location::current());

}  // namespace tilewright
