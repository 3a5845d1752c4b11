// Operators of torch.linalg: systems of linear equations, determinants, and what matrices are
// factored into. A singular matrix gives infinities and NaN, where PyTorch raises an error.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/linear_algebra/symmetric.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace linear_algebra_rows {
namespace {

Tensor matrix_of(const Call& call) { return call.tensor(call.has("A") ? "A" : "self"); }
Tensor turned(const Tensor& x) { return x.transpose(-2, -1); }

// The number of the first one that is true, from 1 on, or 0: LAPACK's info.
Tensor first_true(const Tensor& flags) {
  if (flags.size(-1) == 0) return zeros(any(flags, {-1}).shape(), i32);
  return where(any(flags, {-1}), argmax(flags.to(i32), -1) + 1, std::int64_t{0}).to(i32);
}
Tensor info_of(const Tensor& upper) { return first_true(diagonal(upper, 0, -2, -1) == 0.0); }

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
  return {lu.factors, lu.pivots, info_of(lu.factors)};
}

// P has a one in column i where the i-th row came from.
Tensor permutation(const Tensor& rows, DType dtype) {
  return (arange(0, rows.size(-1)).unsqueeze(1) == rows.unsqueeze(-2)).to(dtype);
}
Tensor lower_of(const Tensor& factors) {
  const std::int64_t count = std::min(factors.size(-2), factors.size(-1));
  Tensor left = factors.slice(-1, 0, count);
  Tensor is_on = arange(0, factors.size(-2)).unsqueeze(1) == arange(0, count);
  return where(is_on, 1.0, tril(left, -1)).to(factors.dtype());
}
Tensor upper_of(const Tensor& factors) {
  return triu(factors.slice(-2, 0, std::min(factors.size(-2), factors.size(-1))));
}
Results three_factors(const Call& call) {
  const LuFactors lu = factored(call);
  return {permutation(lu.rows, lu.factors.dtype()), lower_of(lu.factors), upper_of(lu.factors)};
}
Results unpacked(const Call& call) {
  Tensor factors = call.tensor("LU_data"), none = zeros({0}, factors.dtype());
  Tensor rows = rows_of_pivots(call.tensor("LU_pivots"), factors.size(-2));
  const bool has_data = call.flag("unpack_data", true), has_rows = call.flag("unpack_pivots", true);
  return {has_rows ? permutation(rows, factors.dtype()) : none, has_data ? lower_of(factors) : none,
          has_data ? upper_of(factors) : none};
}

// By the factors of A: X of A X = B, or of A' X = B.
Tensor solved_by_factors(const Tensor& factors, const Tensor& pivots, const Tensor& b,
                         bool adjoint) {
  Tensor p = permutation(rows_of_pivots(pivots, factors.size(-2)), f64), wide = b.to(f64),
         lu = factors.to(f64);
  if (!adjoint) {
    Tensor half = solve_triangular(lu, matmul(turned(p), wide), {.unit_diagonal = true});
    return solve_triangular(lu, half, {.upper = true}).to(b.dtype());
  }
  Tensor half = solve_triangular(turned(lu), wide);
  return matmul(p, solve_triangular(turned(lu), half, {.upper = true, .unit_diagonal = true}))
      .to(b.dtype());
}
Tensor solved_by_lu(const Call& call) {
  Tensor lu = call.tensor("LU"), pivots = call.tensor("pivots"), b = call.tensor("B");
  const bool adjoint = call.flag("adjoint", false);
  return call.flag("left", true) ? solved_by_factors(lu, pivots, b, adjoint)
                                 : turned(solved_by_factors(lu, pivots, turned(b), !adjoint));
}

// From the left, or X of X A = B.
Tensor solved(const Call& call) {
  Tensor a = call.tensor("A"), b = call.tensor("B");
  call.flag("check_errors", false);
  return call.flag("left", true) ? solve(a, b) : turned(solve(turned(a), turned(b)));
}
Results solved_with_info(const Call& call) {
  return {solved(call), info_of(lu_factor(call.tensor("A")).factors)};
}
Results inverse_with_info(const Call& call) {
  call.flag("check_errors", false);
  Tensor a = call.tensor("A");
  return {inverse(a), info_of(lu_factor(a).factors)};
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
  return {factor, first_true(logical_not(diagonal(factor, 0, -2, -1) > 0.0))};
}
Tensor solved_by_root(const Tensor& root, const Tensor& b, bool upper) {
  Tensor low = (upper ? turned(root) : root).to(f64);
  Tensor half = solve_triangular(low, b.to(f64));
  return solve_triangular(turned(low), half, {.upper = true}).to(b.dtype());
}
Tensor inverse_of_root(const Call& call) {
  Tensor factor = call.tensor("self");
  const std::int64_t n = factor.size(-1);
  Tensor one = (arange(0, n).unsqueeze(1) == arange(0, n)).to(factor.dtype());
  return solved_by_root(factor, one, call.flag("upper", false));
}

Tensor log_of_determinant(const Call& call) {
  auto [sign, log_magnitude] = log_determinant(call.tensor("self"));
  return where(sign < 0.0, std::numeric_limits<double>::quiet_NaN(), log_magnitude)
      .to(log_magnitude.dtype());
}

Results orthogonal(const Call& call) {
  const std::string mode = call.text("mode", "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    call.refuse("mode", "is none of reduced, complete and r");
  auto [q, r] = qr(call.tensor("A"), mode == "complete");
  return {mode == "r" ? zeros({0}, q.dtype()) : q, r};
}
// The product of reflections at the left or right, as it is or transposed.
Tensor multiplied(const Call& call) {
  Tensor vectors = call.tensor("self"), tau = call.tensor("input2"), x = call.tensor("input3");
  const bool transposed = call.flag("transpose", false);
  return call.flag("left", true) ? reflected(vectors, tau, x, transposed)
                                 : turned(reflected(vectors, tau, turned(x), !transposed));
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
  return {solved(call), lu.factors, lu.pivots, info_of(lu.factors)};
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

// A = U H, of the singular values: U is the nearest matrix with orthonormal columns.
Results polar_factors(const Call& call) {
  Tensor a = call.tensor("A");
  if (a.rank() < 2 || a.size(-2) < a.size(-1))
    call.refuse("A", concat("is [", a.shape(), "]; at least as many rows as columns are wanted"));
  const SingularValues svd = singular_values(a.to(f64));
  const Tensor symmetric = matmul(svd.right * svd.values.unsqueeze(-2), turned(svd.right));
  return {matmul(svd.left, turned(svd.right)).to(a.dtype()), symmetric.to(a.dtype())};
}
// Of a symmetric matrix, by its eigenvalues, of which those below 0 count as 0.
Tensor square_root_of_matrix(const Call& call) {
  Tensor a = call.tensor("self");
  auto [values, vectors] = eigh(a.to(f64));
  const Tensor roots = sqrt(clamp_min(values, 0.0));
  return matmul(vectors * roots.unsqueeze(-2), turned(vectors)).to(a.dtype());
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
    {"aten.logdet.default", by<log_of_determinant>},
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
       return solved_by_factors(c.tensor("LU_data"), c.tensor("LU_pivots"), c.tensor("self"),
                                false);
     }},
    {"aten.linalg_solve_triangular.default", by<solved_by_triangle>},
    {"aten.triangular_solve.default", by<solved_by_triangle_at_right>},
    {"aten.linalg_cholesky.default", by<root>},
    {"aten.cholesky.default", by<root>},
    {"aten.linalg_cholesky_ex.default", by<root_with_info>},
    {"aten.cholesky_solve.default",
     [](const Call& c) {
       return solved_by_root(c.tensor("input2"), c.tensor("self"), c.flag("upper", false));
     }},
    {"aten.cholesky_inverse.default", by<inverse_of_root>},
    {"aten.linalg_qr.default", by<orthogonal>},
    {"aten.geqrf.default", [](const Call& c) { return geqrf(c.tensor("self")); }},
    {"aten.linalg_householder_product.default",
     [](const Call& c) { return householder_product(c.tensor("input"), c.tensor("tau")); }},
    {"aten.ormqr.default", by<multiplied>},
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
    {"aten.linalg_matrix_sqrth.default", by<square_root_of_matrix>},
};

}  // namespace
}  // namespace linear_algebra_rows

std::span<const Operator> linear_algebra_operators() { return linear_algebra_rows::rows; }

}  // namespace tilewright::exported
