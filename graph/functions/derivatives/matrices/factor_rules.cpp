// The rules of singular values and of QR and LU factors (functions/named/rules.h).
#include <algorithm>
#include <limits>

#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/named/rules.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace {

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }
// The part of a gradient that turns orthonormal columns among themselves.
Tensor turning(const Tensor& columns, const Tensor& gradient) {
  const Tensor product = matmul(transposed(columns), gradient);
  return product - transposed(product);
}
// The part that leads out of their space.
Tensor leading_out(const Tensor& columns, const Tensor& gradient) {
  return gradient - matmul(columns, matmul(transposed(columns), gradient));
}
// The sum of those that are defined.
void add_to(Tensor& sum, const Tensor& x) { sum = sum.defined() ? sum + x : x; }

}  // namespace

namespace graph::named {

// The results are {left, values, right}; columns of a complete base besides the first are free, and
// have no gradients.
std::vector<Tensor> svd_derivative(const DerivativeCall& call) {
  const std::int64_t count = call.results[1].size(-1);
  auto first = [&](const Tensor& x) { return x.defined() ? x.slice(-1, 0, count) : x; };
  const Tensor u = first(call.results[0]), &values = call.results[1], v = first(call.results[2]),
               of_u = first(call.cotangents[0]), &of_values = call.cotangents[1],
               of_v = first(call.cotangents[2]);
  const Tensor row = values.unsqueeze(-2), column = values.unsqueeze(-1);
  Tensor inner;
  if (of_values.defined()) inner = diag_embed(of_values);
  if (of_u.defined() || of_v.defined()) {
    const Tensor number = arange(0, count), squares = values * values;
    const Tensor apart =
        where(number.unsqueeze(-1) == number, std::numeric_limits<double>::infinity(),
              squares.unsqueeze(-2) - squares.unsqueeze(-1));
    if (of_u.defined()) add_to(inner, turning(u, of_u) / apart * row);
    if (of_v.defined()) add_to(inner, column * (turning(v, of_v) / apart));
  }
  Tensor all = matmul(matmul(u, inner), transposed(v));
  if (of_u.defined() && u.size(-2) > count)
    all = all + matmul(leading_out(u, of_u) / row, transposed(v));
  if (of_v.defined() && v.size(-2) > count)
    all = all + matmul(u / row, transposed(leading_out(v, of_v)));
  return {all};
}

std::vector<Tensor> svdvals_derivative(const DerivativeCall& call) {
  const SingularValues parts = svd({call[0], call.where}, false);
  return {matmul(parts.left * call.cotangents[0].unsqueeze(-2), transposed(parts.right))};
}

// With rows in the order of the factors, b = l u. The part of l^-1 db u^-1 below its diagonal
// changes l, the rest u. Columns of b behind a square part are l times those of u, and rows so.
std::vector<Tensor> lu_factor_derivative(const DerivativeCall& call) {
  const Tensor &all = call.results[0], &of_all = call.cotangents[0];
  if (!of_all.defined()) return {};
  const std::int64_t m = all.size(-2), n = all.size(-1), count = std::min(m, n);
  if (all.count() == 0) return {};
  auto part = [&](const Tensor& x, std::int64_t row, std::int64_t column) {
    return x.slice(-2, row, row == 0 ? count : m).slice(-1, column, column == 0 ? count : n);
  };
  const Tensor square = part(all, 0, 0), of_square = part(of_all, 0, 0),
               lower = tril(square, -1) + eye(count, {}, all.dtype()), upper = triu(square);
  Tensor of_lower = matmul(transposed(lower), tril(of_square, -1)),
         of_upper = matmul(triu(of_square), transposed(upper));
  if (n > count)
    of_lower = of_lower - matmul(part(of_all, 0, count), transposed(part(all, 0, count)));
  if (m > count)
    of_upper = of_upper - matmul(transposed(part(all, count, 0)), part(of_all, count, 0));
  auto by_lower = [&](const Tensor& x) {
    return solve_triangular(transposed(lower), x, {.upper = true, .unit_diagonal = true});
  };
  auto by_upper = [&](const Tensor& x) {
    return transposed(solve_triangular(upper, transposed(x), {.upper = true}));
  };
  Tensor found = by_upper(by_lower(tril(of_lower, -1) + triu(of_upper)));
  if (n > count) found = cat({found, by_lower(part(of_all, 0, count))}, -1);
  if (m > count) found = cat({found, by_upper(part(of_all, count, 0))}, -2);
  const Tensor back = argsort(call.results[2], -1).unsqueeze(-1).expand(found.shape());
  return {gather(found, -2, back)};
}

// Matrices with more columns than rows have factors of their first columns, by which r holds the
// others too: D. and J. Roberts, QR and LQ decomposition matrix backpropagation algorithms, 2020.
std::vector<Tensor> qr_derivative(const DerivativeCall& call) {
  const Tensor &a = call[0], &q = call.results[0], &r = call.results[1];
  const std::int64_t rows = a.size(-2), columns = a.size(-1);
  require(rows <= columns || q.size(-1) == columns, "[qr] a complete base of a matrix of ", rows,
          " rows and ", columns, " columns has no derivative (at ", At{call.where},
          "), since its last columns are free; ask for the base that is not complete");
  const std::int64_t count = r.size(-2);
  Tensor of_q = call.cotangents[0].defined() ? call.cotangents[0] : zeros(q.shape(), q.dtype());
  const Tensor of_r =
      call.cotangents[1].defined() ? call.cotangents[1] : zeros(r.shape(), r.dtype());
  const Tensor square = r.slice(-1, 0, count), of_square = of_r.slice(-1, 0, count),
               of_rest = of_r.slice(-1, count, columns);
  if (columns > count) of_q = of_q + matmul(a.slice(-1, count, columns), transposed(of_rest));
  const Tensor m = matmul(square, transposed(of_square)) - matmul(transposed(of_q), q);
  const Tensor symmetric = tril(m) + transposed(tril(m, -1));
  const Tensor right = of_q + matmul(q, symmetric);
  const Tensor of_first = transposed(solve_triangular(square, transposed(right), {.upper = true}));
  return {columns > count ? cat({of_first, matmul(q, of_rest)}, -1) : of_first};
}

}  // namespace graph::named

}  // namespace tilewright
