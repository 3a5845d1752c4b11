// Complex systems of equations solved by factors that are known, and matrices made of factors,
// under PyTorch's names.
//
// Apart from complex_matrices.h, where the factors come from: these are products of matrices and
// solutions of triangular systems. Batches [.., m, n]. A singular matrix gives infinities and NaN,
// where PyTorch raises an error. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <utility>

#include "graph/functions/complex/complex_tensor.h"
#include "graph/functions/linear_algebra/solving.h"

namespace tilewright {

// P L U of a matrix [.., m, n], with k = min(m, n): P [.., m, m] is a permutation, L [.., m, k] has
// ones on its diagonal.
struct ComplexLuMatrices {
  ComplexTensor permutation, lower, upper;
};
ComplexLuMatrices lu(const ComplexTensor& a);
// From the results of lu_factor.
ComplexLuMatrices lu_unpack(const ComplexTensor& factors, const Tensor& pivots);

// By the results of lu_factor(A).
ComplexTensor lu_solve(const ComplexTensor& factors, const Tensor& pivots, const ComplexTensor& b,
                       const LuSolveOptions& options = {});
// X of A X = B and the inverse of A, by the result of cholesky(A, upper).
ComplexTensor cholesky_solve(const ComplexTensor& b, const ComplexTensor& factor,
                             bool upper = false);
ComplexTensor cholesky_inverse(const ComplexTensor& factor, bool upper = false);

// The logarithm of the determinant, with its angle as the imaginary part.
ComplexTensor logdet(const ComplexTensor& a);
// U and H of A = U H, for at least as many rows as columns: U is the nearest matrix with
// orthonormal columns, H is Hermitian with no eigenvalue below 0.
std::pair<ComplexTensor, ComplexTensor> linalg_polar(const ComplexTensor& a);
// The square root of a Hermitian matrix; eigenvalues below 0 count as 0.
ComplexTensor matrix_sqrth(const ComplexTensor& a);

struct OrmqrOptions {
  bool left = true;
  bool adjoint = false;  // PyTorch's transpose
};
// Q X or X Q, or with the adjoint of Q, for the m x m matrix Q that the results of geqrf are.
ComplexTensor ormqr(const ComplexTensor& vectors, const ComplexTensor& tau, const ComplexTensor& x,
                    const OrmqrOptions& options = {});

}  // namespace tilewright
