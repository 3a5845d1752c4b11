// Eigenvalues of symmetric matrices, and singular values, under PyTorch's names.
//
// On the host by Eigen: tridiagonal and bidiagonal matrices, of which the latter are divided (M.
// Gu and S. Eisenstat: A divide-and-conquer algorithm for the bidiagonal SVD, 1995). On GPUs by
// Jacobi's rotations, of as many pairs of columns at once as there are (R. Brent and F. Luk: The
// solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays, 1985). Of
// batches [.., m, n], as in solving.h: in f64. The signs of vectors are not LAPACK's, nor are the
// vectors of equal values. Of a matrix that is not finite all are NaN on the host.
#pragma once

#include <optional>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Values [.., n] from the least on, and vectors as columns. One half of the operand is read.
std::pair<Tensor, Tensor> eigh(const TensorOperand& a, bool upper = false);
Tensor eigvalsh(const TensorOperand& a, bool upper = false);

// The operand is left diag(values) right'. For k = min(m, n): values [.., k] from the greatest on;
// left [.., m, k] and right [.., n, k], or, where `complete`, [.., m, m] and [.., n, n]: columns
// are orthonormal.
struct SingularValues {
  Tensor left, values, right;
};
SingularValues svd(const TensorOperand& a, bool complete = false);
Tensor svdvals(const TensorOperand& a);
// PyTorch's linalg.pinv: the pseudo-inverse [.., n, m] of [.., m, n]. Singular values of at most
// `rtol` times the greatest count as 0; by default max(m, n) times the step of the dtype above 1.
Tensor pinv(const TensorOperand& a, std::optional<double> rtol = {});
// The solution of linalg.lstsq: X [.., n, k] with the least |A X - B|, of those the least X.
Tensor lstsq(const TensorOperand& a, const Tensor& b, std::optional<double> rtol = {});

// Where nobody minds that left columns of values 0 may be zero.
SingularValues singular_values(const TensorOperand& a);

}  // namespace tilewright
