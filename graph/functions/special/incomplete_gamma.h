// The incomplete gamma functions, regularised, under PyTorch's names: P (igamma) and Q = 1 - P
// (igammac).
//
// Operands are tensors that broadcast and promote; integers are taken as f32. Computed in f64 and
// rounded once. Where a is below 50 or x is far from it, by the series of P or the continued
// fraction of Q, whichever is the smaller, until all elements are done; else by the expansion for
// great a, whose turning point is at x = a (N. Temme, The asymptotic expansion of the incomplete
// gamma functions, 1979). Negative operands give NaN. Safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor igamma(const TensorOperand& a, const TensorOperand& x);
Tensor igammac(const TensorOperand& a, const TensorOperand& x);

}  // namespace tilewright
