// Rows for systems of complex linear equations, determinants, and what complex matrices are
// factored into; and for eigenvalues of any matrices, which are complex. As in
// ops/linear_algebra.cpp: a singular matrix gives infinities and NaN, where PyTorch raises an
// error.
#include <algorithm>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/products.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/complex_equations.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

ComplexTensor matrix_of(const Call& call) {
  return call.complex_tensor(call.has("A") ? "A" : "self");
}
ComplexTensor turned(const ComplexTensor& z) { return z.transpose(-2, -1); }
// A program's complex values have both parts.
ComplexTensor with_zeros(const ComplexTensor& z) { return {z.real(), z.imag()}; }
ComplexTensor no_elements(DType dtype) { return with_zeros(ComplexTensor(zeros({0}, dtype))); }

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

void require_pivots(const Call& call) {
  if (!call.flag("pivot", true)) call.refuse("pivot", "is false; rows are always exchanged");
  call.flag("check_errors", false);
}
Results lu_and_pivots(const Call& call) {
  require_pivots(call);
  const ComplexLuFactors lu = lu_factor(matrix_of(call));
  return {lu.factors, lu.pivots};
}
Results lu_pivots_and_info(const Call& call) {
  require_pivots(call);
  const ComplexLuFactors lu = lu_factor(matrix_of(call));
  return {lu.factors, lu.pivots, info_of(lu.factors)};
}
Results three_factors(const Call& call) {
  require_pivots(call);
  const ComplexLuMatrices parts = lu(matrix_of(call));
  return {with_zeros(parts.permutation), parts.lower, parts.upper};
}
Results unpacked(const Call& call) {
  const ComplexTensor factors = call.complex_tensor("LU_data"), none = no_elements(factors.dtype());
  const bool has_data = call.flag("unpack_data", true), has_rows = call.flag("unpack_pivots", true);
  const ComplexLuMatrices parts = lu_unpack(factors, call.tensor("LU_pivots"));
  return {has_rows ? with_zeros(parts.permutation) : none, has_data ? parts.lower : none,
          has_data ? parts.upper : none};
}
Value solved_by_lu(const Call& call) {
  return lu_solve(call.complex_tensor("LU"), call.tensor("pivots"), call.complex_tensor("B"),
                  {.left = call.flag("left", true), .adjoint = call.flag("adjoint", false)});
}

ComplexTensor inverse_of(const Call& call) {
  call.flag("check_errors", false);
  return inverse(matrix_of(call));
}
Results inverse_with_info(const Call& call) { return {inverse_of(call), info_of_matrix(call)}; }
ComplexTensor solved(const Call& call) {
  call.flag("check_errors", false);
  const ComplexTensor a = call.complex_tensor("A"), b = call.complex_tensor("B");
  return call.flag("left", true) ? solve(a, b) : turned(solve(turned(a), turned(b)));
}
Results solved_with_info(const Call& call) { return {solved(call), info_of_matrix(call)}; }
Results solved_with_factors_and_info(const Call& call) {
  const ComplexLuFactors lu = lu_factor(matrix_of(call));
  return {solved(call), lu.factors, lu.pivots, info_of(lu.factors)};
}
Value solved_by_triangle(const Call& call) {
  const ComplexTensor a = call.complex_tensor("self"), b = call.complex_tensor("B");
  const bool upper = call.flag("upper", false), unit = call.flag("unitriangular", false);
  if (call.flag("left", true)) return solve_triangular(a, b, {upper, unit});
  return turned(solve_triangular(turned(a), turned(b), {!upper, unit}));
}
Results solved_by_triangle_at_right(const Call& call) {
  const ComplexTensor a = call.complex_tensor("A"), b = call.complex_tensor("self");
  const bool upper = call.flag("upper", true), unit = call.flag("unitriangular", false),
             transposed = call.flag("transpose", false);
  return {solve_triangular(transposed ? turned(a) : a, b, {upper != transposed, unit}), a};
}

ComplexTensor root(const Call& call) {
  return cholesky(call.complex_tensor("self"), call.flag("upper", false));
}
Results root_with_info(const Call& call) {
  call.flag("check_errors", false);
  const ComplexTensor factor = root(call);
  return {factor, first_true(logical_not(on_diagonal(factor.real()) > 0.0))};
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
Results orthogonal(const Call& call) {
  const std::string mode = call.text("mode", "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    call.refuse("mode", "is none of reduced, complete and r");
  auto [q, r] = qr(matrix_of(call), mode == "complete");
  return {mode == "r" ? no_elements(q.dtype()) : q, r};
}
Results reflections_of(const Call& call) {
  auto [factors, tau] = geqrf(matrix_of(call));
  return {factors, tau};
}
Value product_of_reflections(const Call& call) {
  return householder_product(call.complex_tensor("input"), call.complex_tensor("tau"));
}
Value multiplied_by_reflections(const Call& call) {
  return ormqr(call.complex_tensor("self"), call.complex_tensor("input2"),
               call.complex_tensor("input3"),
               {.left = call.flag("left", true), .adjoint = call.flag("transpose", false)});
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
    const ComplexTensor none = no_elements(a.dtype());
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
Results polar_factors(const Call& call) {
  auto [unitary, hermitian] = linalg_polar(matrix_of(call));
  return {unitary, hermitian};
}
Tensor values_of_singular(const Call& call) {
  call.has("driver");
  return svdvals(matrix_of(call));
}

Results spectrum(const Call& call) {
  auto [values, vectors] = eig(call.complex_factor("self"));
  return {values, vectors};
}

constexpr Operator complex_factor_rows[] = {
    {"aten._linalg_det.default", by<determinant_of>},
    {"aten._linalg_eigh.default", by<hermitian_spectrum>},
    {"aten._linalg_slogdet.default", by<direction_and_log_of_determinant>},
    {"aten._linalg_solve_ex.default", by<solved_with_factors_and_info>},
    {"aten._linalg_svd.default", by<singular_vectors<false>>},
    {"aten._lu_with_info.default", by<lu_pivots_and_info>},
    {"aten.cholesky.default", [](const Call& c) -> Value { return root(c); }},
    {"aten.cholesky_inverse.default",
     [](const Call& c) -> Value {
       return cholesky_inverse(c.complex_tensor("self"), c.flag("upper", false));
     }},
    {"aten.cholesky_solve.default",
     [](const Call& c) -> Value {
       return cholesky_solve(c.complex_tensor("self"), c.complex_tensor("input2"),
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
    {"aten.linalg_matrix_sqrth.default",
     [](const Call& c) -> Value { return matrix_sqrth(matrix_of(c)); }},
    {"aten.linalg_polar.default", by<polar_factors>},
    {"aten.linalg_qr.default", by<orthogonal>},
    {"aten.linalg_slogdet.default", by<direction_and_log_of_determinant>},
    {"aten.linalg_solve.default", [](const Call& c) -> Value { return solved(c); }},
    {"aten.linalg_solve_ex.default", by<solved_with_info>},
    {"aten.linalg_solve_triangular.default", by<solved_by_triangle>},
    {"aten.linalg_svd.default", by<singular_vectors<true>>},
    {"aten.linalg_svdvals.default", by<values_of_singular>},
    {"aten.logdet.default",
     [](const Call& c) -> Value { return logdet(c.complex_tensor("self")); }},
    {"aten.lu_unpack.default", by<unpacked>},
    {"aten.ormqr.default", by<multiplied_by_reflections>},
    {"aten.slogdet.default", by<direction_and_log_of_determinant>},
    {"aten.svd.default", by<singular_columns>},
    {"aten.triangular_solve.default", by<solved_by_triangle_at_right>},
};
constexpr Operator spectra[] = {
    {"aten.linalg_eig.default", by<spectrum>},
    {"aten.linalg_eigvals.default",
     [](const Call& c) -> Value { return eigvals(c.complex_factor("self")); }},
};

}  // namespace

std::span<const Operator> complex_factor_operators() { return complex_factor_rows; }
std::span<const Operator> spectrum_operators() { return spectra; }

}  // namespace tilewright::exported
