// The cross entropy of a linear layer's results without these results: logits of a vocabulary are
// the largest values of a language model, and each of their rows is needed for one number.
//
//   auto loss = [](const Tensor& hidden, const Tensor& table, const Tensor& targets) {
//     return linear_cross_entropy(hidden, table, targets);
//   };
//   // cross_entropy(linear(hidden, table), targets), in memory for the logits of a few rows
//
// Rows are gone through some at a time, by a loop of the graph. The gradients are computed in such
// a loop too: where their cotangent does not depend on the loss, as in a step of training, the same
// turns give the loss and the gradients, and no logit is computed twice.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

struct LinearCrossEntropyOptions {
  Tensor bias = {};                               // [C], added to the logits
  Tensor weight = {};                             // [C], of each target's class; it has no gradient
  std::int64_t ignore_index = -100;               // rows with this target count nothing
  LossReduction reduction = LossReduction::mean;  // a mean is over the weights of the targets
  double label_smoothing = 0;  // the share of the target that is spread over all classes
};
// Rows x [N, K], a table [C, K], targets [N] (i32, i64 or u8). The result has no axes, or is [N]
// where nothing is reduced, in the dtype of x; logits are f32, f64 where x is. A target outside the
// classes is an `Error`, in a compiled function as far as Options::index_checks says. Raises
// `Error` where sizes or dtypes do not fit. Safe to call from several threads.
Tensor linear_cross_entropy(const TensorOperand& x, const Tensor& table, const Tensor& targets,
                            const LinearCrossEntropyOptions& options = {});

}  // namespace tilewright
