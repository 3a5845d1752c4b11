// The loss of connectionist temporal classification (Graves et al., 2006), under PyTorch's name:
// the negative logarithm of the probability of a sequence of labels, summed over all alignments of
// it with the steps of the input. A recurrence over the steps, so it stands here.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct CtcOptions {
  std::int64_t blank = 0;
  // A mean is that of the losses by the lengths of their targets.
  LossReduction reduction = LossReduction::mean;
  bool zero_infinity = false;  // targets that no alignment fits have the loss and gradient 0
};

// log_probs [T, N, C] are logarithms of probabilities (log_softmax), targets [N, S] integers, of
// which the first target_lengths [N] of each row count, as do input_lengths [N] steps; without N,
// [T, C], [S] and lengths without axes or [1]. The gradient is that of the formula; PyTorch's adds
// exp(log_probs), for which log_softmax in front of it makes no difference. Logarithms of 16 bits
// are computed in f32. A label or a length outside is an `Error`, inside a compiled function as far
// as Options::index_checks says. Safe to call from several threads.
Tensor ctc_loss(const TensorOperand& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

}  // namespace tilewright
