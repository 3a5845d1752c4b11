// The derivative of attention, by what it gave and the logarithms of the sums of its weights, from
// which the weights are computed again instead of being kept: T. Dao and others: FlashAttention,
// 2022.
//
// Computed in f32 (f64 of f64) and rounded once. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// q [.., T, D], k [.., S, D], v [.., S, E] with as many heads each; `output` [.., T, E] and
// `logsumexp` [.., T] as attention gave them.
struct AttentionOperands {
  Tensor query, key, value, output, logsumexp;
  Tensor mask = {};  // of the queries' dtype, added to scores [.., T, S]; or undefined
  bool causal = false;
  std::optional<double> scale = {};  // 1 / sqrt(D) if absent
};
struct AttentionGradients {
  Tensor query, key, value;
};
AttentionGradients attention_backward(const Tensor& gradient, const AttentionOperands& operands,
                                      std::source_location w = std::source_location::current());

}  // namespace tilewright
