#include "graph/functions/linear_algebra/factored_solving.h"

#include <algorithm>
#include <limits>

#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }
const Tensor& matrices_of(const TensorOperand& a, const char* name) {
  const Tensor& given = graph::tensor_of(a, name);
  require(given.rank() >= 2 && is_floating(given.dtype()), "[", name, "] the operand is ",
          given.dtype(), " [", given.shape(), "] (at ", At{a.where},
          "); floats [.., m, n] are wanted");
  return given;
}

// The number of the first one that is true, from 1 on, or 0.
Tensor first_true(const Tensor& flags) {
  if (flags.size(-1) == 0) return zeros(any(flags, {-1}).shape(), DType::i32);
  return where(any(flags, {-1}), argmax(flags.to(DType::i32), -1) + 1, std::int64_t{0})
      .to(DType::i32);
}

// P has a one in column i where the i-th row came from.
Tensor permutation_of(const Tensor& rows, DType dtype) {
  return (arange(0, rows.size(-1)).unsqueeze(1) == rows.unsqueeze(-2)).to(dtype);
}
Tensor lower_of(const Tensor& factors) {
  const std::int64_t count = std::min(factors.size(-2), factors.size(-1));
  const Tensor left = factors.slice(-1, 0, count);
  const Tensor is_on = arange(0, factors.size(-2)).unsqueeze(1) == arange(0, count);
  return where(is_on, 1.0, tril(left, -1)).to(factors.dtype());
}
Tensor upper_of(const Tensor& factors) {
  return triu(factors.slice(-2, 0, std::min(factors.size(-2), factors.size(-1))));
}

// X of A X = B, or of A' X = B.
Tensor solved_from_left(const Tensor& factors, const Tensor& pivots, const Tensor& b,
                        bool adjoint) {
  const Tensor p = permutation_of(rows_of_pivots(pivots, factors.size(-2)), DType::f64),
               wide = b.to(DType::f64), lu = factors.to(DType::f64);
  if (!adjoint) {
    const Tensor half = solve_triangular(lu, matmul(transposed(p), wide), {.unit_diagonal = true});
    return solve_triangular(lu, half, {.upper = true}).to(b.dtype());
  }
  const Tensor half = solve_triangular(transposed(lu), wide);
  return matmul(p, solve_triangular(transposed(lu), half, {.upper = true, .unit_diagonal = true}))
      .to(b.dtype());
}

}  // namespace

LuParts lu(const TensorOperand& a) {
  matrices_of(a, "lu");
  const LuFactors all = lu_factor(a);
  return {permutation_of(all.rows, all.factors.dtype()), lower_of(all.factors),
          upper_of(all.factors)};
}
LuParts lu_unpack(const TensorOperand& factors, const Tensor& pivots) {
  const Tensor& given = matrices_of(factors, "lu_unpack");
  const Tensor rows = rows_of_pivots(pivots, given.size(-2));
  return {permutation_of(rows, given.dtype()), lower_of(given), upper_of(given)};
}
Tensor lu_solve(const TensorOperand& b, const Tensor& factors, const Tensor& pivots,
                const LuSolveOptions& options) {
  if (const graph::AutocastCall cast("lu_solve", b.where); cast.is_listed())
    return lu_solve(cast(b), cast(factors), pivots, options);
  const Tensor& right = matrices_of(b, "lu_solve");
  if (options.left) return solved_from_left(factors, pivots, right, options.adjoint);
  return transposed(solved_from_left(factors, pivots, transposed(right), !options.adjoint));
}

Tensor cholesky_solve(const TensorOperand& b, const Tensor& factor, bool upper) {
  if (const graph::AutocastCall cast("cholesky_solve", b.where); cast.is_listed())
    return cholesky_solve(cast(b), cast(factor), upper);
  const Tensor& right = matrices_of(b, "cholesky_solve");
  const Tensor low = (upper ? transposed(factor) : factor).to(DType::f64);
  const Tensor half = solve_triangular(low, right.to(DType::f64));
  return solve_triangular(transposed(low), half, {.upper = true}).to(right.dtype());
}
Tensor cholesky_inverse(const TensorOperand& factor, bool upper) {
  if (const graph::AutocastCall cast("cholesky_inverse", factor.where); cast.is_listed())
    return cholesky_inverse(cast(factor), upper);
  const Tensor& given = matrices_of(factor, "cholesky_inverse");
  const std::int64_t n = given.size(-1);
  const Tensor one = (arange(0, n).unsqueeze(1) == arange(0, n)).to(given.dtype());
  return cholesky_solve(one, given, upper);
}

Tensor singular_column(const TensorOperand& factors) {
  return first_true(diagonal(matrices_of(factors, "singular_column"), 0, -2, -1) == 0.0);
}
Tensor indefinite_row(const TensorOperand& factor) {
  return first_true(logical_not(diagonal(matrices_of(factor, "indefinite_row"), 0, -2, -1) > 0.0));
}

Tensor logdet(const TensorOperand& a) {
  auto [sign, log_magnitude] = log_determinant(a);
  return where(sign < 0.0, std::numeric_limits<double>::quiet_NaN(), log_magnitude)
      .to(log_magnitude.dtype());
}

Tensor ormqr(const TensorOperand& vectors, const Tensor& tau, const Tensor& matrices,
             const ReflectionOptions& options) {
  if (const graph::AutocastCall cast("ormqr", vectors.where); cast.is_listed())
    return ormqr(cast(vectors), cast(tau), cast(matrices), options);
  if (options.left) return reflected(vectors, tau, matrices, options.transpose);
  return transposed(reflected(vectors, tau, transposed(matrices), !options.transpose));
}

PolarFactors linalg_polar(const TensorOperand& a) {
  const Tensor& given = matrices_of(a, "linalg_polar");
  require(given.size(-2) >= given.size(-1), "[linalg_polar] the operand is [", given.shape(),
          "] (at ", At{a.where}, "); at least as many rows as columns are wanted");
  const SingularValues parts = singular_values(given.to(DType::f64));
  const Tensor symmetric =
      matmul(parts.right * parts.values.unsqueeze(-2), transposed(parts.right));
  return {matmul(parts.left, transposed(parts.right)).to(given.dtype()),
          symmetric.to(given.dtype())};
}
Tensor linalg_matrix_sqrth(const TensorOperand& a) {
  const Tensor& given = matrices_of(a, "linalg_matrix_sqrth");
  auto [values, vectors] = eigh(given.to(DType::f64));
  const Tensor roots = sqrt(clamp_min(values, 0.0));
  return matmul(vectors * roots.unsqueeze(-2), transposed(vectors)).to(given.dtype());
}

}  // namespace tilewright
