// What is made of matrices that were factored: their parts, equations solved by them, and the
// factors that follow from singular values and eigenvalues, under PyTorch's names.
//
// Of batches [.., m, n], as in solving.h, whose functions factor. Computed in f64 and rounded once.
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <source_location>

#include "graph/functions/linear_algebra/solving.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// a = P L U: P [.., m, m], L [.., m, k] with ones on its diagonal, U [.., k, n], k = min(m, n).
struct LuParts {
  Tensor permutation, lower, upper;
};
LuParts lu(const TensorOperand& a);
// Of what lu_factor gave.
LuParts lu_unpack(const TensorOperand& factors, const Tensor& pivots);
Tensor lu_solve(const TensorOperand& b, const Tensor& factors, const Tensor& pivots,
                const LuSolveOptions& options = {});

// X of A X = B by the lower factor of a positive definite A, or the upper one; and A's inverse.
Tensor cholesky_solve(const TensorOperand& b, const Tensor& factor, bool upper = false);
Tensor cholesky_inverse(const TensorOperand& factor, bool upper = false);

// LAPACK's info, i32 [..]: the first column of U whose diagonal is 0, from 1 on, or 0; and the
// first row of a factor of cholesky whose diagonal is not positive.
Tensor singular_column(const TensorOperand& factors);
Tensor indefinite_row(const TensorOperand& factor);

// log(det(a)); NaN where the determinant is negative.
Tensor logdet(const TensorOperand& a);

// The product of the reflections that geqrf gave, or what undoes it, times `matrices` at its right,
// or at its left.
struct ReflectionOptions {
  bool left = true, transpose = false;
};
Tensor ormqr(const TensorOperand& vectors, const Tensor& tau, const Tensor& matrices,
             const ReflectionOptions& options = {});

// a = U H for m >= n: U is the nearest matrix with orthonormal columns, H symmetric and not
// negative. By singular values.
struct PolarFactors {
  Tensor orthonormal, symmetric;
};
PolarFactors linalg_polar(const TensorOperand& a);
// The root of a symmetric matrix, by its eigenvalues, of which those below 0 count as 0.
Tensor linalg_matrix_sqrth(const TensorOperand& a);

}  // namespace tilewright
