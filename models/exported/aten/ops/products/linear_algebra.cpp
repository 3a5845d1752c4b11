// Operators of torch.linalg: systems of linear equations, determinants, and what matrices are
// factored into. A singular matrix gives infinities and NaN, where PyTorch raises an error.
#include "graph/functions/linear_algebra/factored_solving.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/linear_algebra/symmetric.h"
#include "models/exported/aten/operators.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace linear_algebra_rows {
namespace {

Tensor matrix_of(const Call& call) { return call.tensor(call.has("A") ? "A" : "self"); }
Tensor turned(const Tensor& x) { return x.transpose(-2, -1); }

LuFactors factored(const Call& call) {
  if (!call.flag("pivot", true)) call.refuse("pivot", "is false; rows are always exchanged");
  call.flag("check_errors", false);
  return lu_factor(matrix_of(call));
}
Results lu_and_pivots(const Call& call) {
  const LuFactors lu = factored(call);
  return {lu.factors, lu.pivots};
}
Results lu_pivots_and_info(const Call& call) {
  const LuFactors lu = factored(call);
  return {lu.factors, lu.pivots, singular_column(lu.factors)};
}

Results three_factors(const Call& call) {
  if (!call.flag("pivot", true)) call.refuse("pivot", "is false; rows are always exchanged");
  const LuParts parts = lu(matrix_of(call));
  return {parts.permutation, parts.lower, parts.upper};
}
Results unpacked(const Call& call) {
  const Tensor factors = call.tensor("LU_data"), none = zeros({0}, factors.dtype());
  const LuParts parts = lu_unpack(factors, call.tensor("LU_pivots"));
  const bool has_data = call.flag("unpack_data", true), has_rows = call.flag("unpack_pivots", true);
  return {has_rows ? parts.permutation : none, has_data ? parts.lower : none,
          has_data ? parts.upper : none};
}
Tensor solved_by_lu(const Call& call) {
  return lu_solve(call.tensor("B"), call.tensor("LU"), call.tensor("pivots"),
                  {.left = call.flag("left", true), .adjoint = call.flag("adjoint", false)});
}

// From the left, or X of X A = B.
Tensor solved(const Call& call) {
  Tensor a = call.tensor("A"), b = call.tensor("B");
  call.flag("check_errors", false);
  return call.flag("left", true) ? solve(a, b) : turned(solve(turned(a), turned(b)));
}
Results solved_with_info(const Call& call) {
  return {solved(call), singular_column(lu_factor(call.tensor("A")).factors)};
}
Results inverse_with_info(const Call& call) {
  call.flag("check_errors", false);
  Tensor a = call.tensor("A");
  return {inverse(a), singular_column(lu_factor(a).factors)};
}

Tensor solved_by_triangle(const Call& call) {
  Tensor a = call.tensor("self"), b = call.tensor("B");
  const bool upper = call.flag("upper", false), unit = call.flag("unitriangular", false);
  if (call.flag("left", true)) return solve_triangular(a, b, {upper, unit});
  return turned(solve_triangular(turned(a), turned(b), {!upper, unit}));
}
Results solved_by_triangle_at_right(const Call& call) {
  Tensor a = call.tensor("A"), b = call.tensor("self");
  const bool upper = call.flag("upper", true), unit = call.flag("unitriangular", false),
             transposed = call.flag("transpose", false);
  return {solve_triangular(transposed ? turned(a) : a, b, {upper != transposed, unit}), a};
}

Tensor root(const Call& call) { return cholesky(call.tensor("self"), call.flag("upper", false)); }
Results root_with_info(const Call& call) {
  call.flag("check_errors", false);
  Tensor factor = root(call);
  return {factor, indefinite_row(factor)};
}
Results orthogonal(const Call& call) {
  const std::string mode = call.text("mode", "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    call.refuse("mode", "is none of reduced, complete and r");
  auto [q, r] = qr(call.tensor("A"), mode == "complete");
  return {mode == "r" ? zeros({0}, q.dtype()) : q, r};
}
bool reads_upper(const Call& call) {
  const std::string half = call.text("UPLO", "L");
  if (half != "L" && half != "U") call.refuse("UPLO", "is neither L nor U");
  return half == "U";
}

template <bool is_full_by_default>
Results singular_vectors(const Call& call) {
  Tensor x = call.tensor("A");
  call.has("driver");
  const bool is_full = call.flag("full_matrices", is_full_by_default);
  if (!call.flag("compute_uv", true)) {
    Tensor none = zeros({0}, x.dtype());
    return {none, svdvals(x), none};
  }
  const SingularValues parts = svd(x, is_full);
  return {parts.left, parts.values, turned(parts.right)};
}
// Of torch.svd: the right ones are columns.
Results singular_columns(const Call& call) {
  if (!call.flag("compute_uv", true)) call.refuse("compute_uv", "is false; use linalg.svdvals");
  const SingularValues parts = svd(call.tensor("self"), !call.flag("some", true));
  return {parts.left, parts.values, parts.right};
}

Results determinant_of(const Call& call) { return {determinant(matrix_of(call))}; }
Results sign_and_log_of_determinant(const Call& call) {
  auto [sign, log_magnitude] = log_determinant(matrix_of(call));
  return {sign, log_magnitude};
}

// As decomposed programs have it, with factors, which derivatives alone read: PyTorch's are those
// of the matrix or of its transpose, by how it lies in memory.
template <auto function>
Results with_factors(const Call& call) {
  Results results = function(call);
  for (std::size_t i = results.size(); i < call.node().results.size(); ++i)
    if (call.wants(i)) call.refuse("A", concat("is factored, and result ", i, " is read"));
  results.resize(call.node().results.size());
  return results;
}
Results solved_with_factors_and_info(const Call& call) {
  const LuFactors lu = lu_factor(call.tensor("A"));
  return {solved(call), lu.factors, lu.pivots, singular_column(lu.factors)};
}

// Of real matrices "hermitian" says nothing.
template <bool has_info>
Results symmetric_factors(const Call& call) {
  call.flag("hermitian", false);
  call.flag("check_errors", false);
  const LdlFactors ldl = ldl_factor(call.tensor("self"));
  if (has_info) return {ldl.factors, ldl.pivots, ldl.singular};
  return {ldl.factors, ldl.pivots};
}
Tensor solved_by_symmetric_factors(const Call& call) {
  call.flag("hermitian", false);
  return ldl_solve(call.tensor("LD"), call.tensor("pivots"), call.tensor("B"));
}

Results polar_factors(const Call& call) {
  const PolarFactors factors = linalg_polar(call.tensor("A"));
  return {factors.orthonormal, factors.symmetric};
}

// Whether LAPACK found nothing wrong is not asked: a function here gives what it gives (infinities,
// say), decomposed or not.
Results passed_over(const Call& call) {
  call.has("info");
  call.has("api_name");
  call.has("is_matrix");
  return {};
}
// (token, operator, its operands...): a node that is kept for its effect. Gives the next token.
Results with_effects(const Call& call) {
  const std::string op = call.text("1", "");
  if (op != "torch.ops.aten._linalg_check_errors.default")
    call.refuse("1", concat("is ", json::excerpt(op), "; of effects, checks by LAPACK are known"));
  for (const char* unread : {"0", "2", "3", "is_matrix"}) call.has(unread);
  return {Value()};
}

constexpr Operator rows[] = {
    {"aten.linalg_det.default", by<determinant_of>},
    {"aten.det.default", by<determinant_of>},
    {"aten._linalg_det.default", by<with_factors<determinant_of>>},
    {"aten._linalg_slogdet.default", by<with_factors<sign_and_log_of_determinant>>},
    {"aten.linalg_slogdet.default", by<sign_and_log_of_determinant>},
    {"aten.slogdet.default", by<sign_and_log_of_determinant>},
    {"aten.logdet.default", [](const Call& c) { return logdet(c.tensor("self")); }},
    {"aten.linalg_inv.default", [](const Call& c) { return inverse(matrix_of(c)); }},
    {"aten.inverse.default", [](const Call& c) { return inverse(matrix_of(c)); }},
    {"aten._linalg_check_errors.default", by<passed_over>},
    {"higher_order.with_effects", by<with_effects>},
    {"aten.linalg_inv_ex.default", by<inverse_with_info>},
    {"aten.linalg_solve.default", by<solved>},
    {"aten.linalg_solve_ex.default", by<solved_with_info>},
    {"aten._linalg_solve_ex.default", by<solved_with_factors_and_info>},
    {"aten.linalg_lu_factor.default", by<lu_and_pivots>},
    {"aten.linalg_lu_factor_ex.default", by<lu_pivots_and_info>},
    {"aten._lu_with_info.default", by<lu_pivots_and_info>},
    {"aten.linalg_lu.default", by<three_factors>},
    {"aten.lu_unpack.default", by<unpacked>},
    {"aten.linalg_lu_solve.default", by<solved_by_lu>},
    {"aten.lu_solve.default",
     [](const Call& c) {
       return lu_solve(c.tensor("self"), c.tensor("LU_data"), c.tensor("LU_pivots"));
     }},
    {"aten.linalg_solve_triangular.default", by<solved_by_triangle>},
    {"aten.triangular_solve.default", by<solved_by_triangle_at_right>},
    {"aten.linalg_cholesky.default", by<root>},
    {"aten.cholesky.default", by<root>},
    {"aten.linalg_cholesky_ex.default", by<root_with_info>},
    {"aten.cholesky_solve.default",
     [](const Call& c) {
       return cholesky_solve(c.tensor("self"), c.tensor("input2"), c.flag("upper", false));
     }},
    {"aten.cholesky_inverse.default",
     [](const Call& c) { return cholesky_inverse(c.tensor("self"), c.flag("upper", false)); }},
    {"aten.linalg_qr.default", by<orthogonal>},
    {"aten.geqrf.default", [](const Call& c) { return geqrf(c.tensor("self")); }},
    {"aten.linalg_householder_product.default",
     [](const Call& c) { return householder_product(c.tensor("input"), c.tensor("tau")); }},
    {"aten.ormqr.default",
     [](const Call& c) {
       return ormqr(c.tensor("self"), c.tensor("input2"), c.tensor("input3"),
                    {.left = c.flag("left", true), .transpose = c.flag("transpose", false)});
     }},
    {"aten.linalg_eigh.default",
     [](const Call& c) { return eigh(c.tensor("self"), reads_upper(c)); }},
    {"aten.linalg_eigvalsh.default",
     [](const Call& c) { return eigvalsh(c.tensor("self"), reads_upper(c)); }},
    {"aten._linalg_eigh.default",
     [](const Call& c) {
       c.flag("compute_v", true);
       return eigh(c.tensor("A"), reads_upper(c));
     }},
    {"aten.linalg_svd.default", by<singular_vectors<true>>},
    {"aten._linalg_svd.default", by<singular_vectors<false>>},
    {"aten.svd.default", by<singular_columns>},
    {"aten.linalg_svdvals.default",
     [](const Call& c) {
       c.has("driver");
       return svdvals(c.tensor("A"));
     }},
    {"aten.linalg_ldl_factor.default", by<symmetric_factors<false>>},
    {"aten.linalg_ldl_factor_ex.default", by<symmetric_factors<true>>},
    {"aten.linalg_ldl_solve.default", by<solved_by_symmetric_factors>},
    {"aten.linalg_polar.default", by<polar_factors>},
    {"aten.linalg_matrix_sqrth.default",
     [](const Call& c) { return linalg_matrix_sqrth(c.tensor("self")); }},
};

}  // namespace
}  // namespace linear_algebra_rows

std::span<const Operator> linear_algebra_operators() { return linear_algebra_rows::rows; }

}  // namespace tilewright::exported
