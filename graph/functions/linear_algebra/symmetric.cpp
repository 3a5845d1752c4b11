#include "graph/functions/linear_algebra/symmetric.h"

#include <cmath>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/convolving/padding.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/matrices.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/cumulative.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::column_at;
using graph::column_numbers;
using graph::few_turns;
using graph::Matrices;
using graph::outer_products;
using graph::row_at;

namespace {

// Numbers 0 .. n - 1 with two of them [b, 1] exchanged.
Tensor with_two_exchanged(const Tensor& one, const Tensor& other, std::int64_t n) {
  const Tensor i = arange(0, n);
  return where(i == one, other, where(i == other, one, i + 0 * other));
}
Tensor with_rows(const Tensor& matrices, const Tensor& numbers) {
  return gather(matrices, 1, numbers.unsqueeze(2).expand(matrices.shape()));
}
// Of vectors [b, n] the element at a number [b, 1] or [], as [b, 1].
Tensor element_at(const Tensor& vectors, const Tensor& number) {
  const Tensor none = zeros({}, vectors.dtype());
  return sum(where(arange(0, vectors.size(1)) == number, vectors, none), {1}, true);
}

// Which row of a column k is the pivot, and whether it and row k make a block.
struct Pivot {
  Pivot(const Tensor& matrix, const Tensor& column, const Tensor& k) {
    const double alpha = (1 + std::sqrt(17.0)) / 8;
    const std::int64_t n = matrix.size(1);
    const Tensor i = arange(0, n), below = where(i > k, abs(column), -1.0);
    const Tensor greatest = argmax(below, 1, true);  // [b, 1]
    const Tensor in_column = maximum(amax(below, {1}, true), 0.0);
    const Tensor row = sum(where((arange(0, n) == greatest).unsqueeze(2), matrix, 0.0), {1});
    const Tensor is_other = logical_and(i >= k, i != greatest);
    const Tensor in_row = amax(where(is_other, abs(row), 0.0), {1}, true);
    const Tensor own = abs(element_at(column, k)), other = abs(element_at(row, greatest));
    const Tensor stays =
        logical_or(own >= alpha * in_column, own >= alpha * in_column * (in_column / in_row));
    is_zero = maximum(own, in_column) == 0.0;
    const Tensor stays_there = logical_or(stays, is_zero);
    is_block = logical_and(logical_not(stays_there), logical_not(other >= alpha * in_row));
    place = where(stays_there, k, greatest);
  }
  Tensor place, is_block, is_zero;  // [b, 1]
};

// The columns of L and D from k on, and what is left of the matrix.
struct Elimination {
  Elimination(const Tensor& matrix, const Tensor& k, const Tensor& is_block) {
    const Tensor i = arange(0, matrix.size(1)), next = k + 1;
    const Tensor one = column_at(matrix, k), two = column_at(matrix, next);
    const Tensor diagonal = element_at(one, k);
    const Tensor single = where(logical_and(i > k, diagonal != 0.0), one / diagonal, 0.0);
    const Tensor off = element_at(one, next);
    const Tensor first = element_at(two, next) / off, second = diagonal / off;
    const Tensor scale = 1.0 / (first * second - 1.0) / off;
    const Tensor is_below = logical_and(i > next, is_block);
    const Tensor left = where(is_below, scale * (first * one - two), 0.0);
    const Tensor right = where(is_below, scale * (second * two - one), 0.0);
    const Tensor by_one = where(is_block, left, single), rest = where(is_below, one, 0.0);
    const Tensor beside = where(is_block, rest, where(i > k, one, 0.0));
    left_over =
        matrix - outer_products(beside, by_one) - outer_products(where(is_below, two, 0.0), right);
    const Tensor of_block = where(i == next, off, by_one);
    column = where(i == k, diagonal, where(is_block, of_block, by_one));
    next_column = where(i == next, element_at(two, next), right);
  }
  Tensor column, next_column, left_over;
};

}  // namespace

// A turn a column; the second of a block is passed over.
LdlFactors ldl_factor(const TensorOperand& a) {
  const Matrices m(a, "ldl_factor");
  m.require_square("ldl_factor");
  const std::int64_t n = m.rows(), b = m.all.size(0);
  if (n == 0 || b == 0)
    return {m.restored(m.all), m.restored(zeros({b, n}, i32)), m.restored(zeros({b}, i32))};
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor &matrix = state[0], &factors = state[1], &pivots = state[2], &k = sliced[0];
    const Tensor is_passed = state[3], i = arange(0, n);  // [b, 1]
    const Pivot pivot(matrix, column_at(matrix, k), k);
    const Tensor is_block = pivot.is_block, from = where(is_block, k + 1, k);
    const Tensor order = with_two_exchanged(from, pivot.place, n);
    const Tensor turned = with_rows(with_rows(matrix, order).transpose(1, 2), order);
    const Elimination done(turned, k, is_block);
    const Tensor goes_on = logical_not(is_passed), has_next = logical_and(goes_on, is_block);
    const Tensor number = column_numbers(matrix);
    auto of_all = [](const Tensor& flags) { return flags.unsqueeze(2); };
    Tensor filled =
        where(logical_and(number == k, of_all(goes_on)), done.column.unsqueeze(2), factors);
    filled = where(logical_and(number == k + 1, of_all(has_next)), done.next_column.unsqueeze(2),
                   filled);
    const Tensor place = where(is_block, -1 - pivot.place, pivot.place + 1);
    const Tensor is_here =
        logical_or(logical_and(i == k, goes_on), logical_and(i == k + 1, has_next));
    const Tensor is_first_zero =
        logical_and(logical_and(goes_on, pivot.is_zero), state[4] == std::int64_t{0});
    return {{where(of_all(goes_on), done.left_over, matrix), filled, where(is_here, place, pivots),
             has_next, where(is_first_zero, k + 1, state[4])},
            {}};
  };
  const Tensor lower = tril(m.all), none = zeros({b, 1}, i64);
  const Tensor whole = lower + tril(m.all, -1).transpose(1, 2);
  const Tensors start = {whole, zeros({b, n, n}, f64), zeros({b, n}, i64),
                         zeros({b, 1}, DType::boolean), none};
  const Tensors last = scan(turn, start, {arange(0, n)}, {.few_turns = few_turns}).first;
  return {m.restored(last[1]), m.restored(last[2].to(i32)), m.restored(last[4].squeeze(1).to(i32))};
}

namespace {

struct Blocks {
  // Pivots [b, n], i64: two negative ones after each other are a block.
  explicit Blocks(const Tensor& pivots) {
    const Tensor is_of_block = pivots < std::int64_t{0};
    const Tensor is_odd =
        bitwise_and(cumsum(is_of_block.to(i64), 1), std::int64_t{1}) != std::int64_t{0};
    is_first = logical_and(is_of_block, is_odd);
    is_second = logical_and(is_of_block, logical_not(is_odd));
    place = abs(pivots) - 1;
  }
  Tensor is_first, is_second, place;
};

// Which rows the block that begins at k exchanges: its last with its pivot.
Tensor order_of(const Blocks& blocks, const Tensor& k, std::int64_t n) {
  auto at = [&](const Tensor& x) { return element_at(x.to(i64), k); };
  const Tensor from = k + at(blocks.is_first), place = at(blocks.place);
  return with_two_exchanged(from, where(at(blocks.is_second) == 1, from, place), n);
}
// L's column k, of which D's block is no part.
Tensor column_of(const Tensor& factors, const Blocks& blocks, const Tensor& k) {
  const Tensor last = k + element_at(blocks.is_first.to(i64), k);
  return where(arange(0, factors.size(1)) > last, column_at(factors, k), 0.0);
}

// D's blocks, each solved with its rows: those above and below by their neighbours.
Tensor solved_by_blocks(const Tensor& factors, const Blocks& blocks, const Tensor& b) {
  const std::int64_t n = factors.size(1);
  const Tensor d = diagonal(factors, 0, 1, 2);
  const Tensor off = pad(diagonal(factors, -1, 1, 2), {0, 1});  // beside the first row
  auto above = [&](const Tensor& x) { return pad(x.slice(1, 0, n - 1), {0, 0, 1, 0}); };
  auto below = [&](const Tensor& x) { return pad(x.slice(1, 1, n), {0, 0, 0, 1}); };
  const Tensor own = d.unsqueeze(2), beside = off.unsqueeze(2);
  auto of_block = [](const Tensor& row, const Tensor& other, const Tensor& d_row,
                     const Tensor& d_other, const Tensor& e) {
    return (d_other / e * (row / e) - other / e) / (d_row / e * (d_other / e) - 1.0);
  };
  const Tensor first = of_block(b, below(b), own, below(own), beside);
  const Tensor second = of_block(b, above(b), own, above(own), above(beside));
  return where(blocks.is_first.unsqueeze(2), first,
               where(blocks.is_second.unsqueeze(2), second, b / own));
}

}  // namespace

Tensor ldl_solve(const TensorOperand& factors, const Tensor& pivots, const Tensor& b) {
  const Matrices given(factors, "ldl_solve"), of_b(b, "ldl_solve");
  given.require_square("ldl_solve");
  const std::int64_t n = given.rows();
  Shape of_pivots = given.batch;
  of_pivots.push_back(n);
  const auto batch = broadcast_shapes(given.batch, of_b.batch);
  require(of_b.rows() == n && batch && pivots.shape() == of_pivots, "[ldl_solve] factors [",
          factors.tensor.shape(), "], pivots [", pivots.shape(), "] and b [", b.shape(),
          "]; [.., n, n], [.., n] and [.., n, k] are wanted, whose batches broadcast");
  auto of_batch = [&](const Tensor& x, int own) {
    Shape sizes = *batch;
    sizes.insert(sizes.end(), x.shape().end() - own, x.shape().end());
    return x.expand(sizes);
  };
  const Matrices m(of_batch(factors.tensor, 2), "ldl_solve");
  const Matrices right(of_batch(b, 2), "ldl_solve");
  if (right.all.count() == 0) return right.restored(right.all);
  const Blocks blocks(of_batch(pivots, 1).to(i64).reshape({m.all.size(0), n}));
  auto down = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor& k = sliced[0];
    const Tensor x = with_rows(state[0], order_of(blocks, k, n));
    return {{x - outer_products(column_of(m.all, blocks, k), row_at(x, k))}, {}};
  };
  auto up = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor &k = sliced[0], &x = state[0];
    const Tensor taken = sum(column_of(m.all, blocks, k).unsqueeze(2) * x, {1}, true);
    const Tensor less = where((arange(0, n) == k).unsqueeze(1), x - taken, x);
    return {{with_rows(less, order_of(blocks, k, n))}, {}};
  };
  const Tensor numbers = arange(0, n);
  Tensor x = scan(down, {right.all}, {numbers}, {.few_turns = few_turns}).first[0];
  x = solved_by_blocks(m.all, blocks, x);
  x = scan(up, {x}, {numbers}, {.reverse = true, .few_turns = few_turns}).first[0];
  return right.restored(x);
}

}  // namespace tilewright
