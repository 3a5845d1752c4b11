// Losses of elements against targets of the same shape, under the names of torch.nn.functional.
//
// Operands are floating and promote. They broadcast where PyTorch's do, so that mse_loss of [N] and
// [N, 1] is that of N x N pairs; cross entropies and margins refuse it. Operands of 16 bits are
// computed in f32, and the result, of the reduction too, is rounded once. Inputs are not clamped to
// the domain of a loss: one outside gives the value of the formula. Misuse raises `Error`; safe to
// call from several threads. Losses of classes are in class_losses.h, of distances in distances.h.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// (x - target)^2 and |x - target|.
Tensor mse_loss(const TensorOperand& x, const TensorOperand& target,
                LossReduction reduction = LossReduction::mean);
Tensor l1_loss(const TensorOperand& x, const TensorOperand& target,
               LossReduction reduction = LossReduction::mean);
// With d = |x - target|: d^2 / (2 beta) below beta, else d - beta / 2; beta is not negative.
Tensor smooth_l1_loss(const TensorOperand& x, const TensorOperand& target,
                      LossReduction reduction = LossReduction::mean, double beta = 1);
// d^2 / 2 up to delta, else delta (d - delta / 2); delta is positive.
Tensor huber_loss(const TensorOperand& x, const TensorOperand& target,
                  LossReduction reduction = LossReduction::mean, double delta = 1);

// For logarithms x: target (log(target) - x), and 0 where the target is 0. `batchmean` divides the
// sum by the size of axis 0.
enum class DivergenceReduction : std::uint8_t { mean, sum, none, batchmean };
struct DivergenceOptions {
  DivergenceReduction reduction = DivergenceReduction::mean;
  bool log_target = false;  // the target is a logarithm too
};
Tensor kl_div(const TensorOperand& x, const TensorOperand& target,
              const DivergenceOptions& options = {});

// -(target log(x) + (1 - target) log(1 - x)), times the weight; no logarithm is below -100.
Tensor binary_cross_entropy(const TensorOperand& x, const TensorOperand& target,
                            const Tensor& weight = {},
                            LossReduction reduction = LossReduction::mean);
// That of sigmoid(x), for which nothing overflows; the target's part is counted pos_weight times.
Tensor binary_cross_entropy_with_logits(const TensorOperand& x, const TensorOperand& target,
                                        const Tensor& weight = {},
                                        LossReduction reduction = LossReduction::mean,
                                        const Tensor& pos_weight = {});

struct PoissonOptions {
  bool log_input = true;  // x is the logarithm of the rate
  bool full = false;      // with Stirling's term for targets above 1
  double eps = 1e-8;      // added to a rate before its logarithm
  LossReduction reduction = LossReduction::mean;
};
Tensor poisson_nll_loss(const TensorOperand& x, const TensorOperand& target,
                        const PoissonOptions& options = {});
struct GaussianOptions {
  bool full = false;  // with the constant log(2 pi) / 2
  double eps = 1e-6;  // the least variance
  LossReduction reduction = LossReduction::mean;
};
// (log(variance) + (x - target)^2 / variance) / 2. The variance has the shape of x, or all of it
// but the last axis.
Tensor gaussian_nll_loss(const TensorOperand& x, const TensorOperand& target,
                         const Tensor& variance, const GaussianOptions& options = {});

// Targets are 1 or -1. log(1 + exp(-target x)):
Tensor soft_margin_loss(const TensorOperand& x, const TensorOperand& target,
                        LossReduction reduction = LossReduction::mean);
// max(0, margin - target (a - b)):
Tensor margin_ranking_loss(const TensorOperand& a, const TensorOperand& b,
                           const TensorOperand& target, double margin = 0,
                           LossReduction reduction = LossReduction::mean);
// x where the target is 1, max(0, margin - x) where it is -1, and their sum elsewhere:
Tensor hinge_embedding_loss(const TensorOperand& x, const TensorOperand& target, double margin = 1,
                            LossReduction reduction = LossReduction::mean);

}  // namespace tilewright
