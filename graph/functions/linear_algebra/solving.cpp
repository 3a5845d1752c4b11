#include "graph/functions/linear_algebra/solving.h"

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/host_matrices.h"
#include "graph/functions/linear_algebra/matrices.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/named/rules.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::column_at;
using graph::column_numbers;
using graph::few_turns;
using graph::FunctionCall;
using graph::Matrices;
using graph::NamedFunction;
using graph::outer_products;
using graph::real_operand;
using graph::row_at;
using graph::row_numbers;

namespace {

// Rows in another order: numbers [b, m].
Tensor reordered(const Tensor& matrices, const Tensor& numbers) {
  return gather(matrices, 1, numbers.unsqueeze(2).expand(matrices.shape()));
}
// The numbers 0 .. m - 1 with k and the pivot [b] exchanged, [b, m].
Tensor exchanged(const Tensor& k, const Tensor& pivot, std::int64_t m) {
  Tensor i = arange(0, m), other = pivot.unsqueeze(1);
  return where(i == k, other, where(i == other, k, i + 0 * other));
}

// Gaussian elimination with partial pivoting: a turn a column.
Tensors lu_factor_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  if (!call.target.is_gpu()) {
    ComplexLuFactors lu = lu_factor(real_operand(a, "lu_factor"), a.where);
    return {lu.factors.real(), lu.pivots, lu.rows, lu.sign};
  }
  const Matrices m(a, "lu_factor");
  const std::int64_t count = std::min(m.rows(), m.columns()), b = m.all.size(0);
  Tensor numbers = (arange(0, m.rows()) + zeros({b, 1}, i64));
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor& k = sliced[0];
    Tensor i = arange(0, m.rows());
    Tensor size = where(i >= k, abs(column_at(state[0], k)), -1.0);
    Tensor pivot = argmax(size, 1);
    Tensor order = exchanged(k, pivot, m.rows());
    Tensor matrix = reordered(state[0], order);
    Tensor row = row_at(matrix, k), column = column_at(matrix, k);
    Tensor diagonal = sum(where(arange(0, m.columns()) == k, row, 0.0), {1}, true);
    Tensor factor = where(logical_and(i > k, diagonal != 0.0), column / diagonal, 0.0);
    Tensor is_right = column_numbers(matrix) > k;
    Tensor less = matrix - where(is_right, outer_products(factor, row), 0.0);
    Tensor is_below = logical_and(row_numbers(matrix) > k, column_numbers(matrix) == k);
    matrix = where(is_below, factor.unsqueeze(2), less);
    return {{matrix, gather(state[1], 1, order), where(pivot == k, state[2], -state[2])},
            {pivot + 1}};
  };
  Tensor sign = ones({b}, f64);
  if (count == 0 || b == 0)
    return {m.restored(m.all), m.restored(zeros({b, count}, i32)), m.restored(numbers),
            m.restored(sign)};
  auto [last, pivots] =
      scan(turn, {m.all, numbers, sign}, {arange(0, count)}, {.few_turns = few_turns});
  return {m.restored(last[0]), m.restored(pivots[0].transpose(0, 1).to(i32)), m.restored(last[1]),
          m.restored(last[2])};
}

}  // namespace

namespace graph::named {
extern const NamedFunction lu_factor_function;
const NamedFunction lu_factor_function("lu_factor", lu_factor_body, lu_factor_derivative);
}  // namespace graph::named

LuFactors lu_factor(const TensorOperand& a) {
  if (const graph::AutocastCall cast("_lu_with_info", a.where); cast.is_listed())
    return lu_factor(cast(a));
  Tensors all = graph::named::lu_factor_function({graph::tensor_of(a, "lu_factor")}, {}, a.where);
  return {all[0], all[1], all[2], all[3]};
}

Tensor rows_of_pivots(const Tensor& pivots, std::int64_t m) {
  const Shape batch(pivots.shape().begin(), pivots.shape().end() - 1);
  const std::int64_t b = element_count(batch), count = pivots.size(-1);
  Tensor flat = pivots.reshape({b, count}).to(i64) - 1;
  Tensor numbers = arange(0, m) + zeros({b, 1}, i64);
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    return {{gather(state[0], 1, exchanged(sliced[0], sliced[1], m))}, {}};
  };
  if (count > 0 && b > 0)
    numbers =
        scan(turn, {numbers}, {arange(0, count), flat.transpose(0, 1)}, {.few_turns = few_turns})
            .first[0];
  Shape sizes = batch;
  sizes.push_back(m);
  return numbers.reshape(sizes);
}

namespace {

// A column a turn, which the ones behind it are made less by.
Tensors cholesky_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const bool upper = call.settings.flag("upper");
  if (!call.target.is_gpu()) return {cholesky(real_operand(a, "cholesky"), upper, a.where).real()};
  const Matrices m(a, "cholesky");
  m.require_square("cholesky");
  const std::int64_t n = m.rows();
  if (m.all.count() == 0) return {m.restored(m.all)};
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor& k = sliced[0];
    Tensor i = arange(0, n), column = column_at(state[0], k);
    Tensor root = sqrt(sum(where(i == k, column, 0.0), {1}, true));
    Tensor below = where(i > k, column / root, 0.0);
    return {{state[0] - outer_products(below, below)}, {where(i == k, root, below)}};
  };
  Tensor half = upper ? m.all.transpose(1, 2) : m.all;
  Tensor columns = scan(turn, {half}, {arange(0, n)}, {.few_turns = few_turns}).second[0];
  return {m.restored(columns.permute(upper ? std::vector{1, 0, 2} : std::vector{1, 2, 0}))};
}

// Of [b, n, n] and [b, n, k], f64: a row of the result a turn, which the others are made less by.
Tensor substituted(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  const std::int64_t n = a.size(1);
  if (b.count() == 0) return b;
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor &k = sliced[0], &column = sliced[1];
    Tensor i = arange(0, n), row = row_at(state[0], k);
    if (!options.unit_diagonal) row = row / sum(where(i == k, column, 0.0), {1}, true);
    Tensor others = where(options.upper ? i < k : i > k, column, 0.0);
    Tensor less = state[0] - outer_products(others, row);
    return {{where(row_numbers(less) == k, row.unsqueeze(1), less)}, {}};
  };
  return scan(turn, {b}, {arange(0, n), a.permute({2, 0, 1})},
              {.reverse = options.upper, .few_turns = few_turns})
      .first[0];
}

// Batches of both, broadcast.
std::pair<Tensor, Tensor> of_one_batch(std::string_view operation, const Tensor& a,
                                       const Tensor& b) {
  require(a.rank() >= 2 && b.rank() >= 2 && a.size(-1) == a.size(-2) && a.size(-1) == b.size(-2),
          "[", operation, "] the matrices are [", a.shape(), "] and [", b.shape(),
          "]; square ones, and others with as many rows, are wanted");
  const auto batch_of = [](const Tensor& x) {
    return Shape(x.shape().begin(), x.shape().end() - 2);
  };
  const Shape batch = (zeros(batch_of(a)) + zeros(batch_of(b))).shape();
  auto widened = [&](const Tensor& x) {
    Shape sizes = batch;
    sizes.insert(sizes.end(), x.shape().end() - 2, x.shape().end());
    return x.expand(sizes);
  };
  return {widened(a), widened(b)};
}

Tensors solve_triangular_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const Tensor& b = call[1];
  const TriangularOptions options{.upper = call.settings.flag("upper"),
                                  .unit_diagonal = call.settings.flag("unit_diagonal")};
  if (!call.target.is_gpu())
    return {solve_triangular(real_operand(a, "solve_triangular"),
                             real_operand(b, "solve_triangular"), options, a.where)
                .real()};
  auto [left, right] = of_one_batch("solve_triangular", a.tensor, b);
  const Matrices m(left, "solve_triangular"), x(right, "solve_triangular");
  return {x.restored(substituted(m.all, x.all, options))};
}

Tensors solve_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const Tensor& b = call[1];
  if (!call.target.is_gpu())
    return {solve(real_operand(a, "solve"), real_operand(b, "solve"), a.where).real()};
  if (b.rank() == 1 || b.rank() + 1 == a.tensor.rank()) {
    const Shape batch(a.tensor.shape().begin(), a.tensor.shape().end() - 1);
    if (b.rank() == 1 || b.shape() == batch) return {solve(a, b.unsqueeze(-1)).squeeze(-1)};
  }
  auto [left, right] = of_one_batch("solve", a.tensor, b);
  const Matrices x(right, "solve");
  const LuFactors lu = lu_factor(left.to(f64));
  const Matrices factors(lu.factors, "solve");
  Tensor ordered = reordered(x.all, lu.rows.reshape({x.all.size(0), x.rows()}));
  Tensor half = substituted(factors.all, ordered, {.unit_diagonal = true});
  return {x.restored(substituted(factors.all, half, {.upper = true}))};
}

Tensors inverse_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  if (!call.target.is_gpu()) return {inverse(real_operand(a, "inverse"), a.where).real()};
  const Matrices m(a, "inverse");
  m.require_square("inverse");
  return {m.restored(solve(m.all, graph::identities(m.all.size(0), m.rows())))};
}

Tensors determinant_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  if (!call.target.is_gpu()) return {determinant(real_operand(a, "determinant"), a.where).real()};
  const Matrices m(a, "determinant");
  m.require_square("determinant");
  const LuFactors lu = lu_factor(m.all);
  return {m.restored(lu.sign * prod(diagonal(lu.factors, 0, 1, 2), {1}))};
}

Tensors log_determinant_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  if (!call.target.is_gpu()) {
    ComplexLogDeterminant log = log_determinant(real_operand(a, "log_determinant"), a.where);
    return {log.direction.real(), log.log_magnitude};
  }
  const Matrices m(a, "log_determinant");
  m.require_square("log_determinant");
  const LuFactors lu = lu_factor(m.all);
  Tensor on = diagonal(lu.factors, 0, 1, 2);
  Tensor signs = where(on < 0, -1.0, where(on == 0, 0.0, 1.0)).to(f64);
  return {m.restored(lu.sign * prod(signs, {1})), m.restored(sum(log(abs(on)), {1}))};
}

}  // namespace

namespace graph::named {
extern const NamedFunction cholesky_function;
const NamedFunction cholesky_function("cholesky", cholesky_body, cholesky_derivative);
extern const NamedFunction solve_triangular_function;
const NamedFunction solve_triangular_function("solve_triangular", solve_triangular_body,
                                              solve_triangular_derivative);
extern const NamedFunction solve_function;
const NamedFunction solve_function("solve", solve_body, solve_derivative);
extern const NamedFunction inverse_function;
const NamedFunction inverse_function("inverse", inverse_body, inverse_derivative);
extern const NamedFunction determinant_function;
const NamedFunction determinant_function("determinant", determinant_body, determinant_derivative);
extern const NamedFunction log_determinant_function;
const NamedFunction log_determinant_function("log_determinant", log_determinant_body,
                                             log_determinant_derivative);
}  // namespace graph::named

Tensor cholesky(const TensorOperand& a, bool upper) {
  if (const graph::AutocastCall cast("linalg_cholesky", a.where); cast.is_listed())
    return cholesky(cast(a), upper);
  return graph::named::cholesky_function({graph::tensor_of(a, "cholesky")}, {{"upper", upper}},
                                         a.where)[0];
}
Tensor solve_triangular(const TensorOperand& a, const Tensor& b, const TriangularOptions& options) {
  if (const graph::AutocastCall cast("triangular_solve", a.where); cast.is_listed())
    return solve_triangular(cast(a), cast(b), options);
  return graph::named::solve_triangular_function(
      {graph::tensor_of(a, "solve_triangular"), graph::tensor_of({b, a.where}, "solve_triangular")},
      {{"upper", options.upper}, {"unit_diagonal", options.unit_diagonal}}, a.where)[0];
}
Tensor solve(const TensorOperand& a, const Tensor& b) {
  if (const graph::AutocastCall cast("linalg_solve", a.where); cast.is_listed())
    return solve(cast(a), cast(b));
  return graph::named::solve_function(
      {graph::tensor_of(a, "solve"), graph::tensor_of({b, a.where}, "solve")}, {}, a.where)[0];
}
Tensor inverse(const TensorOperand& a) {
  if (const graph::AutocastCall cast("linalg_inv", a.where); cast.is_listed())
    return inverse(cast(a));
  return graph::named::inverse_function({graph::tensor_of(a, "inverse")}, {}, a.where)[0];
}
Tensor determinant(const TensorOperand& a) {
  return graph::named::determinant_function({graph::tensor_of(a, "determinant")}, {}, a.where)[0];
}
LogDeterminant log_determinant(const TensorOperand& a) {
  Tensors all =
      graph::named::log_determinant_function({graph::tensor_of(a, "log_determinant")}, {}, a.where);
  return {all[0], all[1]};
}

Tensor det(const TensorOperand& a) { return determinant(a); }
LogDeterminant slogdet(const TensorOperand& a) { return log_determinant(a); }

}  // namespace tilewright
