// Symmetric matrices that need not be positive definite, factored as P L D L' P' and solved by
// that.
//
// D has blocks of one row or two (J. Bunch, L. Kaufman, Some stable methods for calculating inertia
// and solving symmetric linear systems, 1977), and what is given is what LAPACK's sytrf gives of
// the lower triangle, as PyTorch's ldl_factor does. Computed in f64 and rounded once. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

struct LdlFactors {
  Tensor factors;  // [.., n, n]: D, and below it L without its diagonal
  // [.., n], i32, from 1 on: the row that the i-th was exchanged with; of a block of two rows twice
  // the one that its second was exchanged with, negative.
  Tensor pivots;
  Tensor singular;  // [..], i32: the first column whose block is 0, from 1 on, or 0
};
// Reads the lower triangles of a [.., n, n].
LdlFactors ldl_factor(const TensorOperand& a);
// x of a x = b, for b [.., n, k]. Batches are broadcast.
Tensor ldl_solve(const TensorOperand& factors, const Tensor& pivots, const Tensor& b);

}  // namespace tilewright
