// Eigenvalues of symmetric matrices, and singular values, under PyTorch's names.
//
// By Jacobi's rotations, of as many pairs of columns at once as there are (R. Brent and F. Luk: The
// solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays, 1985). Of
// batches [.., m, n], as in solving.h: in f64, a loop of the graph. The signs of vectors are not
// LAPACK's, nor are the vectors of equal values.
#pragma once

#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Values [.., n] from the least on, and vectors as columns. One half of the operand is read.
std::pair<Tensor, Tensor> eigh(const TensorOperand& a, bool upper = false);

// The operand is left diag(values) right'. For k = min(m, n): values [.., k] from the greatest on;
// left [.., m, k], where a column of a value 0 is zero, and right [.., n, k].
struct SingularValues {
  Tensor left, values, right;
};
SingularValues singular_values(const TensorOperand& a);

}  // namespace tilewright
