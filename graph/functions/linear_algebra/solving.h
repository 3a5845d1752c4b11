// Systems of linear equations, and what matrices are factored into for them, under PyTorch's names.
//
// Of batches [.., m, n] in f64, rounded once to the operand's dtype. On the host each is an op that
// factors a matrix after the other, on all threads (dense/factors.h). On GPUs it is a loop over
// rows or columns in the graph (graph/functions/control/control_flow.h), of as many turns as these
// are: meant for matrices of up to some hundred rows. A singular matrix gives infinities and NaN,
// and one that is not positive definite NaN, where PyTorch raises an error. Safe to call from
// several threads.
#pragma once

#include "graph/functions/linear_algebra/triangular_options.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// The operand's rows in another order are L U: L, without its diagonal of ones, and U are one
// matrix.
struct LuFactors {
  Tensor factors;  // [.., m, n]
  Tensor pivots;   // [.., min(m, n)], i32: the row that the i-th was exchanged with, from 1 on
  Tensor rows;     // [.., m], i64: which row of the operand became the i-th
  Tensor sign;     // [..]: -1 where the order is an odd one
};
LuFactors lu_factor(const TensorOperand& a);
// The order of rows that exchanges give, as in `rows` above: [.., k] to [.., m].
Tensor rows_of_pivots(const Tensor& pivots, std::int64_t m);

// The lower one, or the upper one; of a symmetric matrix only that half is read.
Tensor cholesky(const TensorOperand& a, bool upper = false);

// X of A X = B; the other half of A is not read. Batches are broadcast.
Tensor solve_triangular(const TensorOperand& a, const Tensor& b,
                        const TriangularOptions& options = {});
// X of A X = B, for b [.., n, k], or of [.., n] where its rank is less by one.
Tensor solve(const TensorOperand& a, const Tensor& b);
Tensor inverse(const TensorOperand& a);
Tensor determinant(const TensorOperand& a);
struct LogDeterminant {
  Tensor sign, log_magnitude;
};
LogDeterminant log_determinant(const TensorOperand& a);
// PyTorch's names of these.
Tensor det(const TensorOperand& a);
LogDeterminant slogdet(const TensorOperand& a);

// Of equations that are solved by the factors of lu_factor.
struct LuSolveOptions {
  bool left = true;      // X of A X = B, otherwise of X A = B
  bool adjoint = false;  // with the adjoint of A
};

}  // namespace tilewright
