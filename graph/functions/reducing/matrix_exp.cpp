// The exponential of matrices by a series of small ones, squared again.
#include <cmath>

#include "graph/functions/pointwise/formula.h"
#include "graph/functions/reducing/products.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using graph::Terms;
using std::source_location;

namespace {

// With a power of two that makes the norm at most 1/2, exp(x) is exp(x / 2^s) squared s times. Each
// matrix has its own s; where that is reached, squares are not taken any more. Beyond 2^16, the
// most that is looked at, results are hardly ever finite.
Formula exponential_of(const Formula& matrix) {
  constexpr int most_squares = 17;
  source_location w = matrix.where();
  const Shape& shape = matrix.tensor().shape();
  const std::int64_t size = shape[-1];
  auto spread = [&](const Tensor& t) {
    return Formula(graph::broadcast_to(t, shape, "matrix_exp", w), w);
  };
  auto product = [&](const Formula& a, const Formula& b) {
    return Formula(matmul({a.tensor(), w}, {b.tensor(), w}), w);
  };
  // The greatest sum of a column's magnitudes.
  Tensor columns = sum({abs(matrix).tensor(), w}, {-2}, true);
  Formula norm(amax({columns, w}, {-1}, true), w);
  Formula squares =
      lesser(greater(ceil(log2(norm)) + 1, norm.number(0)), norm.number(most_squares));
  Formula scaled = matrix * spread(exp2(-squares).tensor());
  Tensor row = arange(0, size, 1, DType::i32, w);
  Tensor is_diagonal = row.unsqueeze(0, w) == TensorOperand(row.unsqueeze(1, w), w);
  Formula identity = spread(is_diagonal.to(matrix.dtype(), w));
  // Horner's rule for sums of x^k / k!.
  const int terms_of_series = matrix.dtype() == DType::f64 ? 14 : 8;
  Formula result = identity;
  for (int k = terms_of_series; k > 0; --k)
    result = product(scaled, result) / static_cast<double>(k) + identity;
  Formula count = spread(squares.tensor());
  for (int i = 0; i < most_squares; ++i)
    result = choice(count > static_cast<double>(i), product(result, result), result);
  return result;
}

}  // namespace

Tensor matrix_exp(const TensorOperand& x) {
  source_location w = x.where;
  const Tensor given = graph::tensor_of(x, "matrix_exp");
  require(given.rank() >= 2 && given.size(-1) == given.size(-2) && is_floating(given.dtype()),
          "[matrix_exp] the operand is ", given.dtype(), " ", given.shape(), " (at ", At{w},
          "); it must be floating, of square matrices");
  if (given.count() == 0) return given.clone(w);
  return graph::computed("matrix_exp", graph::widened("matrix_exp", {&x}),
                         [](const Terms& t) { return exponential_of(t[0]); });
}

}  // namespace tilewright
