// The rules of matrix equations, determinants, factors and eigenvalues (functions/named/rules.h).
#include <limits>

#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/named/rules.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/reducing/reductions.h"

namespace tilewright {

namespace {

Tensor turned(const Tensor& x) { return x.transpose(-2, -1); }
// [..] as matrices of one element.
Tensor as_matrices(const Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); }

// -of_b x^T, that of the matrix of an equation a x = b from that of b.
Tensor of_matrix(const Tensor& a, const Tensor& of_b, const Tensor& x) {
  return sum_to_size(-matmul(of_b, turned(x)), a.shape());
}

// The algorithm of Faddeev and LeVerrier, by the characteristic polynomial: n - 1 products.
Tensor adjugate(const Tensor& a) {
  const std::int64_t n = a.size(-1);
  const Tensor identity = eye(n, {}, a.dtype());
  Tensor sum = identity.expand(a.shape());
  for (std::int64_t k = 1; k < n; ++k) {
    const Tensor product = matmul(a, sum);
    const Tensor trace = tilewright::sum(product * identity, {-2, -1}, true);
    sum = product - identity * (trace / static_cast<double>(k));
  }
  return n % 2 == 0 ? -sum : sum;
}

// The transposed adjugate: determinant times inverse, transposed. A singular matrix has no inverse;
// up to 16 rows its adjugate is computed without one, and beyond it is NaN. Each of the two ways
// gets the identity in place of the matrices of the other, so that no infinity comes from there.
Tensor cofactors(const Tensor& a, const Tensor& determinant) {
  const Tensor is_singular = as_matrices(determinant == 0.0),
               identity = eye(a.size(-1), {}, a.dtype());
  const Tensor regular = where(is_singular, identity, a),
               singular = where(is_singular, a, identity);
  const Tensor by_inverse = as_matrices(determinant) * inverse(regular);
  const bool is_small = a.size(-1) <= 16;
  return turned(
      where(is_singular, is_small ? adjugate(singular) : singular * graph::nan, by_inverse));
}

}  // namespace

namespace graph::named {

std::vector<Tensor> inverse_derivative(const DerivativeCall& call) {
  const Tensor y = turned(call.results[0]);
  return {-matmul(matmul(y, call.cotangents[0]), y)};
}

// b is [.., N, K], or vectors [.., N].
std::vector<Tensor> solve_derivative(const DerivativeCall& call) {
  const Tensor &a = call[0], &b = call[1];
  const bool are_vectors = b.rank() == a.rank() - 1;
  auto columns = [&](const Tensor& x) { return are_vectors ? x.unsqueeze(-1) : x; };
  const Tensor of_b = solve(turned(a), columns(call.cotangents[0]));
  const Tensor of_given = are_vectors ? of_b.squeeze(-1) : of_b;
  return {call.wants(0) ? of_matrix(a, of_b, columns(call.results[0])) : Tensor(),
          call.wants(1) ? sum_to_size(of_given, b.shape()) : Tensor()};
}

std::vector<Tensor> solve_triangular_derivative(const DerivativeCall& call) {
  const Tensor &a = call[0], &b = call[1];
  const bool upper = call.settings.flag("upper"), unit = call.settings.flag("unit_diagonal");
  const Tensor of_b =
      solve_triangular(turned(a), call.cotangents[0], {.upper = !upper, .unit_diagonal = unit});
  if (!call.wants(0)) return {Tensor(), sum_to_size(of_b, b.shape())};
  const Tensor of_a = of_matrix(a, of_b, call.results[0]);
  const std::int64_t diagonal = unit ? 1 : 0;
  return {upper ? triu(of_a, diagonal) : tril(of_a, -diagonal),
          call.wants(1) ? sum_to_size(of_b, b.shape()) : Tensor()};
}

std::vector<Tensor> determinant_derivative(const DerivativeCall& call) {
  if (call[0].count() == 0) return {};
  return {as_matrices(call.cotangents[0]) * cofactors(call[0], call.results[0])};
}
// The results are {sign, logarithm of the magnitude}.
std::vector<Tensor> log_determinant_derivative(const DerivativeCall& call) {
  if (!call.cotangents[1].defined()) return {};
  return {as_matrices(call.cotangents[1]) * turned(inverse(call[0]))};
}

// Symmetric, as the matrix: I. Murray, Differentiation of the Cholesky decomposition, 2016.
std::vector<Tensor> cholesky_derivative(const DerivativeCall& call) {
  const bool upper = call.settings.flag("upper");
  const Tensor l = upper ? turned(call.results[0]) : call.results[0],
               g = upper ? turned(call.cotangents[0]) : call.cotangents[0];
  const Tensor lower = tril(matmul(turned(l), g));
  auto from_left = [&](const Tensor& x) { return solve_triangular(turned(l), x, {.upper = true}); };
  const Tensor half = from_left((lower + turned(tril(lower, -1))) * 0.5);
  return {turned(from_left(turned(half)))};
}

// Symmetric, as the matrix. The results are {values, vectors}.
std::vector<Tensor> eigh_derivative(const DerivativeCall& call) {
  const Tensor &values = call.results[0], &vectors = call.results[1],
               &of_values = call.cotangents[0], &of_vectors = call.cotangents[1];
  Tensor inner;
  if (of_vectors.defined()) {
    const Tensor apart = values.unsqueeze(-2) - values.unsqueeze(-1);
    const Tensor number = arange(0, values.size(-1));
    const Tensor is_diagonal = number.unsqueeze(-1) == number;
    inner = matmul(turned(vectors), of_vectors) /
            where(is_diagonal, std::numeric_limits<double>::infinity(), apart);
  }
  if (of_values.defined()) {
    const Tensor diagonal = diag_embed(of_values);
    inner = inner.defined() ? inner + diagonal : diagonal;
  }
  const Tensor found = matmul(matmul(vectors, inner), turned(vectors));
  return {of_vectors.defined() ? (found + turned(found)) * 0.5 : found};
}
std::vector<Tensor> eigvalsh_derivative(const DerivativeCall& call) {
  const Tensor vectors = eigh(call[0], call.settings.flag("upper")).second;
  return {matmul(vectors * call.cotangents[0].unsqueeze(-2), turned(vectors))};
}

}  // namespace graph::named

}  // namespace tilewright
