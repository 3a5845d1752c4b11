// Norms of matrices, their conditions and ranks, pseudo-inverses, powers, and inverses of tensors
// that stand for matrices, under PyTorch's names: of real and of complex ones by the same formulas.
//
// Batches [.., m, n]. Singular values and inverses are computed in f64, and results rounded once to
// the operand's dtype. A result that is a matrix has no imaginary part where the operand has none.
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// A real matrix or a complex one, with the line of the call.
struct MatrixOperand {
  MatrixOperand(const Tensor& real, std::source_location w = std::source_location::current())
      : parts{real, {}}, where(w) {}
  MatrixOperand(const ComplexTensor& z, std::source_location w = std::source_location::current())
      : parts(z.parts()), where(w) {}
  ComplexParts parts;
  std::source_location where;
};

// The root of all squared magnitudes; the sum of the singular values; or by a number the greatest
// or least singular value (2, -2), or sum of the magnitudes of a column (1, -1) or row (inf, -inf).
struct MatrixNormOrder {
  enum class Kind : std::uint8_t { frobenius, nuclear, number };
  Kind kind = Kind::number;
  double number = 2;
};
// Over two axes, by default the last ones, which become 1 or go away.
Tensor matrix_norm(const MatrixOperand& x, const MatrixNormOrder& order, std::vector<int> axes = {},
                   bool keep_dims = false);
// The greatest singular value over the least, for -2 the other way round, and for other orders the
// norm times that of the inverse, infinite where there is none.
Tensor cond(const MatrixOperand& x, const MatrixNormOrder& order = {});

// Singular values that count: those above `atol`, and above `rtol` times the greatest, a number
// each or one for each matrix. Where neither is given, those above what rounding makes of zeros; an
// `atol` above 0 stands alone.
struct SingularValueBounds {
  std::optional<TensorOperand> atol = {}, rtol = {};
  bool hermitian = false;  // the lower half of the matrix stands for the upper one
};
// [.., n, m].
ComplexParts pseudo_inverse(const MatrixOperand& x, const SingularValueBounds& bounds = {});
// i64 [..]: how many singular values count.
Tensor matrix_rank(const MatrixOperand& x, const SingularValueBounds& bounds = {});

// x times itself, or its inverse where n is negative; n is within 1,000,000 of 0.
ComplexParts matrix_power(const MatrixOperand& x, std::int64_t n);
// The inverse of the matrix whose rows are the first axes and whose columns are the others, which
// stand first in the result.
ComplexParts tensor_inverse(const MatrixOperand& x, int first_axes = 2);
// The tensor whose product with x over its last axes is b. These axes of x go last before.
ComplexParts tensor_solve(const MatrixOperand& x, const MatrixOperand& b,
                          const std::vector<int>& moved_axes = {});

}  // namespace tilewright
