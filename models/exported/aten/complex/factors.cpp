// Systems of complex linear equations, determinants, and what complex matrices are factored into;
// and eigenvalues of any matrices, which are complex. As in ops/linear_algebra.cpp: a singular
// matrix gives infinities and NaN, where PyTorch raises an error.
#include <algorithm>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/products.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

ComplexTensor matrix_of(const Call& call) {
  return call.complex_tensor(call.has("A") ? "A" : "self");
}
ComplexTensor turned(const ComplexTensor& z) { return z.transpose(-2, -1); }
// The number of the first one that is true, from 1 on, or 0: LAPACK's info.
Tensor first_true(const Tensor& flags) {
  if (flags.size(-1) == 0) return zeros(any(flags, {-1}).shape(), i32);
  return where(any(flags, {-1}), argmax(flags.to(i32), -1) + 1, std::int64_t{0}).to(i32);
}
Tensor on_diagonal(const Tensor& x) { return diagonal(x, 0, -2, -1); }
Tensor info_of(const ComplexTensor& factors) {
  return first_true(on_diagonal(logical_not(factors)));
}
Tensor info_of_matrix(const Call& call) { return info_of(lu_factor(matrix_of(call)).factors); }

ComplexLuFactors factored(const Call& call) {
  if (!call.flag("pivot", true)) call.refuse("pivot", "is false; rows are always exchanged");
  call.flag("check_errors", false);
  return lu_factor(matrix_of(call));
}
Results lu_and_pivots(const Call& call) {
  const ComplexLuFactors lu = factored(call);
  return {lu.factors, lu.pivots};
}
Results lu_pivots_and_info(const Call& call) {
  const ComplexLuFactors lu = factored(call);
  return {lu.factors, lu.pivots, info_of(lu.factors)};
}

Tensor permutation(const Tensor& rows, DType dtype) {
  return (arange(0, rows.size(-1)).unsqueeze(1) == rows.unsqueeze(-2)).to(dtype);
}
ComplexTensor real_as_complex(const Tensor& x) { return {x, zeros(x.shape(), x.dtype())}; }
ComplexTensor lower_of(const ComplexTensor& factors) {
  const Shape& shape = factors.shape();
  const std::int64_t m = shape[factors.rank() - 2], count = std::min(m, shape[factors.rank() - 1]);
  auto low = [&](const Tensor& x) { return tril(x.slice(-1, 0, count), -1); };
  const Tensor is_on = arange(0, m).unsqueeze(1) == arange(0, count);
  return {where(is_on, 1.0, low(factors.real())).to(factors.real().dtype()), low(factors.imag())};
}
ComplexTensor upper_of(const ComplexTensor& factors) {
  const Shape& shape = factors.shape();
  const std::int64_t count = std::min(shape[factors.rank() - 2], shape[factors.rank() - 1]);
  auto high = [&](const Tensor& x) { return triu(x.slice(-2, 0, count)); };
  return {high(factors.real()), high(factors.imag())};
}
Results three_factors(const Call& call) {
  const ComplexLuFactors lu = factored(call);
  const ComplexTensor& factors = lu.factors;
  return {real_as_complex(permutation(lu.rows, factors.real().dtype())), lower_of(factors),
          upper_of(factors)};
}
Results unpacked(const Call& call) {
  const ComplexTensor factors = call.complex_tensor("LU_data");
  const DType dtype = factors.real().dtype();
  const ComplexTensor none = real_as_complex(zeros({0}, dtype));
  const Tensor rows = rows_of_pivots(call.tensor("LU_pivots"), factors.shape()[factors.rank() - 2]);
  const bool has_data = call.flag("unpack_data", true), has_rows = call.flag("unpack_pivots", true);
  return {has_rows ? real_as_complex(permutation(rows, dtype)) : none,
          has_data ? lower_of(factors) : none, has_data ? upper_of(factors) : none};
}

ComplexTensor by_triangle(const ComplexTensor& a, const ComplexTensor& b,
                          const TriangularOptions& options) {
  return solve_triangular(a, b, options);
}
// By the factors of A: X of A X = B, or of A^H X = B.
ComplexTensor solved_by_factors(const ComplexTensor& lu, const Tensor& pivots,
                                const ComplexTensor& b, bool is_adjoint) {
  const Tensor p = permutation(rows_of_pivots(pivots, lu.shape()[lu.rank() - 2]), b.real().dtype());
  auto ordered = [](const Tensor& order, const ComplexTensor& x) {
    return ComplexTensor(matmul(order, x.real()), matmul(order, x.imag()));
  };
  if (!is_adjoint)
    return by_triangle(lu,
                       by_triangle(lu, ordered(p.transpose(-2, -1), b), {.unit_diagonal = true}),
                       {.upper = true});
  const ComplexTensor half = by_triangle(adjoint(lu), b, {});
  return ordered(p, by_triangle(adjoint(lu), half, {.upper = true, .unit_diagonal = true}));
}
Value solved_by_lu(const Call& call) {
  const ComplexTensor lu = call.complex_tensor("LU"), b = call.complex_tensor("B");
  const Tensor pivots = call.tensor("pivots");
  const bool is_adjoint = call.flag("adjoint", false);
  // X of X A = B is that of A^H X^H = B^H.
  return call.flag("left", true) ? solved_by_factors(lu, pivots, b, is_adjoint)
                                 : adjoint(solved_by_factors(lu, pivots, adjoint(b), !is_adjoint));
}

ComplexTensor inverse_of(const Call& call) {
  call.flag("check_errors", false);
  return inverse(matrix_of(call));
}
Results inverse_with_info(const Call& call) { return {inverse_of(call), info_of_matrix(call)}; }
ComplexTensor solved(const Call& call) {
  call.flag("check_errors", false);
  const ComplexTensor a = call.complex_tensor("A"), b = call.complex_tensor("B");
  if (call.flag("left", true)) return solve(a, b);
  return turned(solve(turned(a), turned(b)));
}
Results solved_with_info(const Call& call) { return {solved(call), info_of_matrix(call)}; }
Results solved_with_factors_and_info(const Call& call) {
  const ComplexLuFactors lu = lu_factor(matrix_of(call));
  return {solved(call), lu.factors, lu.pivots, info_of(lu.factors)};
}
Value solved_by_triangle(const Call& call) {
  const ComplexTensor a = call.complex_tensor("self"), b = call.complex_tensor("B");
  const bool upper = call.flag("upper", false), unit = call.flag("unitriangular", false);
  if (call.flag("left", true)) return by_triangle(a, b, {upper, unit});
  return turned(by_triangle(turned(a), turned(b), {!upper, unit}));
}

Results solved_by_triangle_at_right(const Call& call) {
  const ComplexTensor a = call.complex_tensor("A"), b = call.complex_tensor("self");
  const bool upper = call.flag("upper", true), unit = call.flag("unitriangular", false),
             transposed = call.flag("transpose", false);
  return {by_triangle(transposed ? turned(a) : a, b, {upper != transposed, unit}), a};
}

ComplexTensor root(const Call& call) {
  return cholesky(call.complex_tensor("self"), call.flag("upper", false));
}
Results root_with_info(const Call& call) {
  call.flag("check_errors", false);
  const ComplexTensor factor = root(call);
  return {factor, first_true(logical_not(on_diagonal(factor.real()) > 0.0))};
}
ComplexTensor solved_by_root(const ComplexTensor& root, const ComplexTensor& b, bool upper) {
  const ComplexTensor low = upper ? adjoint(root) : root;
  return by_triangle(adjoint(low), by_triangle(low, b, {}), {.upper = true});
}
Value inverse_of_root(const Call& call) {
  const ComplexTensor factor = call.complex_tensor("self");
  const std::int64_t n = factor.shape()[factor.rank() - 1];
  const Tensor one =
      (arange(0, n).unsqueeze(1) == arange(0, n)).to(factor.real().dtype()).expand(factor.shape());
  return solved_by_root(factor, real_as_complex(one), call.flag("upper", false));
}

// As decomposed programs have them, with factors, which derivatives alone read.
Results with_unread(const Call& call, Results results) {
  for (std::size_t i = results.size(); i < call.node().results.size(); ++i)
    if (call.wants(i)) call.refuse("A", concat("is factored, and result ", i, " is read"));
  results.resize(std::max(results.size(), call.node().results.size()));
  return results;
}
Results determinant_of(const Call& call) {
  return with_unread(call, {determinant(matrix_of(call))});
}
Results direction_and_log_of_determinant(const Call& call) {
  const ComplexLogDeterminant log = log_determinant(matrix_of(call));
  return with_unread(call, {log.direction, log.log_magnitude});
}
Value log_of_determinant(const Call& call) {
  const ComplexLogDeterminant log = log_determinant(matrix_of(call));
  return ComplexTensor(log.log_magnitude, angle(log.direction));
}

Results orthogonal(const Call& call) {
  const std::string mode = call.text("mode", "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    call.refuse("mode", "is none of reduced, complete and r");
  auto [q, r] = qr(matrix_of(call), mode == "complete");
  return {mode == "r" ? real_as_complex(zeros({0}, q.dtype())) : q, r};
}
Results reflections_of(const Call& call) {
  auto [factors, tau] = geqrf(matrix_of(call));
  return {factors, tau};
}
Value product_of_reflections(const Call& call) {
  return householder_product(call.complex_tensor("input"), call.complex_tensor("tau"));
}
// The product of reflections at the left or right, as it is or its adjoint.
Value multiplied(const Call& call) {
  const ComplexTensor vectors = call.complex_tensor("self"), tau = call.complex_tensor("input2");
  const ComplexTensor x = call.complex_tensor("input3");
  const bool undone = call.flag("transpose", false);
  if (call.flag("left", true)) return reflected(vectors, tau, x, undone);
  return adjoint(reflected(vectors, tau, adjoint(x), !undone));
}

bool reads_upper(const Call& call) {
  const std::string half = call.text("UPLO", "L");
  if (half != "L" && half != "U") call.refuse("UPLO", "is neither L nor U");
  return half == "U";
}
Results hermitian_spectrum(const Call& call) {
  call.flag("compute_v", true);
  auto [values, vectors] = eigh(matrix_of(call), reads_upper(call));
  return {values, vectors};
}
template <bool is_full_by_default>
Results singular_vectors(const Call& call) {
  call.has("driver");
  const bool is_full = call.flag("full_matrices", is_full_by_default);
  const ComplexTensor a = matrix_of(call);
  if (!call.flag("compute_uv", true)) {
    const ComplexTensor none = real_as_complex(zeros({0}, a.dtype()));
    return {none, svdvals(a), none};
  }
  const ComplexSingularValues parts = svd(a, is_full);
  return {parts.left, parts.values, adjoint(parts.right)};
}
Results singular_columns(const Call& call) {
  if (!call.flag("compute_uv", true)) call.refuse("compute_uv", "is false; use linalg.svdvals");
  const ComplexSingularValues parts = svd(matrix_of(call), !call.flag("some", true));
  return {parts.left, parts.values, parts.right};
}
// A = U H, of the singular values: U is the nearest matrix with orthonormal columns.
Results polar_factors(const Call& call) {
  const ComplexTensor a = matrix_of(call);
  const Shape& shape = a.shape();
  if (shape.rank() < 2 || a.size(-2) < a.size(-1))
    call.refuse("A", concat("is [", shape, "]; at least as many rows as columns are wanted"));
  const ComplexSingularValues parts = svd(a);
  const ComplexTensor& right = parts.right;
  return {matmul(parts.left, adjoint(right)),
          matmul(right * parts.values.unsqueeze(-2), adjoint(right))};
}
// The square root of a Hermitian matrix, by its eigenvalues, of which those below 0 count as 0.
Value square_root_of_matrix(const Call& call) {
  auto [values, vectors] = eigh(matrix_of(call));
  const Tensor roots = sqrt(clamp_min(values, 0.0)).unsqueeze(-2);
  return matmul(vectors * roots, adjoint(vectors));
}
Tensor values_of_singular(const Call& call) {
  call.has("driver");
  return svdvals(matrix_of(call));
}

Results spectrum(const Call& call) {
  auto [values, vectors] = eig(call.complex_factor("self"));
  return {values, vectors};
}
Value values_of_spectrum(const Call& call) { return eigvals(call.complex_factor("self")); }

constexpr Operator complex_factor_rows[] = {
    {"aten._linalg_det.default", by<determinant_of>},
    {"aten._linalg_eigh.default", by<hermitian_spectrum>},
    {"aten._linalg_slogdet.default", by<direction_and_log_of_determinant>},
    {"aten._linalg_solve_ex.default", by<solved_with_factors_and_info>},
    {"aten._linalg_svd.default", by<singular_vectors<false>>},
    {"aten._lu_with_info.default", by<lu_pivots_and_info>},
    {"aten.cholesky.default", [](const Call& c) -> Value { return root(c); }},
    {"aten.cholesky_inverse.default", by<inverse_of_root>},
    {"aten.cholesky_solve.default",
     [](const Call& c) -> Value {
       return solved_by_root(c.complex_tensor("input2"), c.complex_tensor("self"),
                             c.flag("upper", false));
     }},
    {"aten.det.default", by<determinant_of>},
    {"aten.geqrf.default", by<reflections_of>},
    {"aten.inverse.default", [](const Call& c) -> Value { return inverse_of(c); }},
    {"aten.linalg_cholesky.default", [](const Call& c) -> Value { return root(c); }},
    {"aten.linalg_cholesky_ex.default", by<root_with_info>},
    {"aten.linalg_det.default", by<determinant_of>},
    {"aten.linalg_eigh.default", by<hermitian_spectrum>},
    {"aten.linalg_eigvalsh.default",
     [](const Call& c) { return eigvalsh(matrix_of(c), reads_upper(c)); }},
    {"aten.linalg_householder_product.default", by<product_of_reflections>},
    {"aten.linalg_inv.default", [](const Call& c) -> Value { return inverse_of(c); }},
    {"aten.linalg_inv_ex.default", by<inverse_with_info>},
    {"aten.linalg_lu.default", by<three_factors>},
    {"aten.linalg_lu_factor.default", by<lu_and_pivots>},
    {"aten.linalg_lu_factor_ex.default", by<lu_pivots_and_info>},
    {"aten.linalg_lu_solve.default", by<solved_by_lu>},
    {"aten.linalg_matrix_sqrth.default", by<square_root_of_matrix>},
    {"aten.linalg_polar.default", by<polar_factors>},
    {"aten.linalg_qr.default", by<orthogonal>},
    {"aten.linalg_slogdet.default", by<direction_and_log_of_determinant>},
    {"aten.linalg_solve.default", [](const Call& c) -> Value { return solved(c); }},
    {"aten.linalg_solve_ex.default", by<solved_with_info>},
    {"aten.linalg_solve_triangular.default", by<solved_by_triangle>},
    {"aten.linalg_svd.default", by<singular_vectors<true>>},
    {"aten.linalg_svdvals.default", by<values_of_singular>},
    {"aten.logdet.default", by<log_of_determinant>},
    {"aten.lu_unpack.default", by<unpacked>},
    {"aten.ormqr.default", by<multiplied>},
    {"aten.slogdet.default", by<direction_and_log_of_determinant>},
    {"aten.svd.default", by<singular_columns>},
    {"aten.triangular_solve.default", by<solved_by_triangle_at_right>},
};
constexpr Operator spectra[] = {
    {"aten.linalg_eig.default", by<spectrum>},
    {"aten.linalg_eigvals.default", by<values_of_spectrum>},
};

}  // namespace

std::span<const Operator> complex_factor_operators() { return complex_factor_rows; }
std::span<const Operator> spectrum_operators() { return spectra; }

}  // namespace tilewright::exported
