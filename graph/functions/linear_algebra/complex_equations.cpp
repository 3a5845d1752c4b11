#include "graph/functions/linear_algebra/complex_equations.h"

#include <algorithm>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/products.h"
#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

void require_matrices_of(std::string_view operation, const ComplexTensor& a) {
  require(a.rank() >= 2, "[", operation, "] the operand is [", a.shape(),
          "]; matrices [.., m, n] are wanted");
}

// It has a one in column i where the i-th row came from.
Tensor permutation_matrix(const Tensor& rows, DType dtype) {
  return (arange(0, rows.size(-1)).unsqueeze(1) == rows.unsqueeze(-2)).to(dtype);
}
ComplexTensor lower_triangle(const ComplexTensor& factors) {
  const std::int64_t m = factors.size(-2), count = std::min(m, factors.size(-1));
  const Tensor one = eye(m, count, factors.dtype());
  return map_parts(factors, [&](const Tensor& x) { return tril(x.slice(-1, 0, count), -1); }) + one;
}
ComplexTensor upper_triangle(const ComplexTensor& factors) {
  const std::int64_t count = std::min(factors.size(-2), factors.size(-1));
  return map_parts(factors, [&](const Tensor& x) { return triu(x.slice(-2, 0, count)); });
}
ComplexLuMatrices matrices_of(const ComplexTensor& factors, const Tensor& rows) {
  return {ComplexTensor(permutation_matrix(rows, factors.dtype())), lower_triangle(factors),
          upper_triangle(factors)};
}

// X of A X = B, or of A^H X = B.
ComplexTensor solved_from_left(const ComplexTensor& lu, const Tensor& pivots,
                               const ComplexTensor& b, bool is_adjoint) {
  const Tensor p = permutation_matrix(rows_of_pivots(pivots, lu.size(-2)), b.dtype());
  auto ordered = [](const Tensor& order, const ComplexTensor& x) {
    return map_parts(x, [&](const Tensor& part) { return matmul(order, part); });
  };
  if (!is_adjoint)
    return solve_triangular(
        lu, solve_triangular(lu, ordered(p.transpose(-2, -1), b), {.unit_diagonal = true}),
        {.upper = true});
  const ComplexTensor half = solve_triangular(adjoint(lu), b);
  return ordered(p, solve_triangular(adjoint(lu), half, {.upper = true, .unit_diagonal = true}));
}

}  // namespace

ComplexLuMatrices lu(const ComplexTensor& a) {
  const ComplexLuFactors lu = lu_factor(a);
  return matrices_of(lu.factors, lu.rows);
}
ComplexLuMatrices lu_unpack(const ComplexTensor& factors, const Tensor& pivots) {
  require_matrices_of("lu_unpack", factors);
  return matrices_of(factors, rows_of_pivots(pivots, factors.size(-2)));
}

// X of X A = B is that of A^H X^H = B^H.
ComplexTensor lu_solve(const ComplexTensor& factors, const Tensor& pivots, const ComplexTensor& b,
                       const LuSolveOptions& options) {
  require_matrices_of("lu_solve", factors);
  if (options.left) return solved_from_left(factors, pivots, b, options.adjoint);
  return adjoint(solved_from_left(factors, pivots, adjoint(b), !options.adjoint));
}

ComplexTensor cholesky_solve(const ComplexTensor& b, const ComplexTensor& factor, bool upper) {
  const ComplexTensor low = upper ? adjoint(factor) : factor;
  return solve_triangular(adjoint(low), solve_triangular(low, b), {.upper = true});
}
ComplexTensor cholesky_inverse(const ComplexTensor& factor, bool upper) {
  require_matrices_of("cholesky_inverse", factor);
  const Tensor one = eye(factor.size(-1), std::nullopt, factor.dtype()).expand(factor.shape());
  return cholesky_solve(ComplexTensor(one), factor, upper);
}

ComplexTensor logdet(const ComplexTensor& a) {
  const ComplexLogDeterminant log = log_determinant(a);
  return {log.log_magnitude, angle(log.direction)};
}

std::pair<ComplexTensor, ComplexTensor> linalg_polar(const ComplexTensor& a) {
  require_matrices_of("linalg_polar", a);
  require(a.size(-2) >= a.size(-1), "[linalg_polar] the operand is [", a.shape(),
          "]; at least as many rows as columns are wanted");
  const ComplexSingularValues parts = svd(a);
  const ComplexTensor back = adjoint(parts.right);
  return {matmul(parts.left, back), matmul(parts.right * parts.values.unsqueeze(-2), back)};
}

ComplexTensor matrix_sqrth(const ComplexTensor& a) {
  const auto [values, vectors] = eigh(a);
  const Tensor roots = sqrt(clamp_min(values, 0.0)).unsqueeze(-2);
  return matmul(vectors * roots, adjoint(vectors));
}

ComplexTensor ormqr(const ComplexTensor& vectors, const ComplexTensor& tau, const ComplexTensor& x,
                    const OrmqrOptions& options) {
  if (options.left) return reflected(vectors, tau, x, options.adjoint);
  return adjoint(reflected(vectors, tau, adjoint(x), !options.adjoint));
}

}  // namespace tilewright
