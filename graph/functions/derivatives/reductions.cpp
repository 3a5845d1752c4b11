// Rules of reductions over axes, in terms of their results.
#include <algorithm>
#include <cmath>

#include "graph/functions/derivatives/rule_tables.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"

namespace tilewright::graph::rules {

namespace {

using C = const RuleCall&;
using Tensors = std::vector<Tensor>;

// The result of a reduction over these axes (all if there are none), or its cotangent, expanded to
// the shape of the operand.
Tensor beside(const Tensor& reduced, const Tensor& x, std::span<const double> axes) {
  Shape kept = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) {
    auto is_it = [&](double each) { return each == axis || each + x.rank() == axis; };
    if (axes.empty() || std::ranges::any_of(axes, is_it)) kept[axis] = 1;
  }
  return reduced.reshape(kept).expand(x.shape());
}

// Settings: true if axes are kept; the axes; the dtype of the result.
Tensors of_logsumexp(C c) {
  if (c[0].count() == 0) return {};
  const auto axes = c.numbers.subspan(1, c.numbers.size() - 2);
  return {
      scaled(beside(c.cotangents[0], c[0], axes), exp(c[0] - beside(c.results[0], c[0], axes)))};
}

// Equal shares for all elements that equal the result, which may be NaN.
Tensor shares_of(const Tensor& x, const Tensor& value, const Tensor& given,
                 std::span<const double> axes) {
  const Tensor is_it = logical_or(x == value, logical_and(x != x, value != value));
  std::vector<int> along;
  for (double axis : axes) along.push_back(static_cast<int>(axis));
  const Tensor count = sum(is_it.to(x.dtype()), along, true);
  return where(is_it, given / count, 0.0);
}

// Settings: the order; the axes. The derivative is 0 where the norm is 0, and by elements that are
// 0 unless the order is 2.
Tensors of_vector_norm(C c) {
  const double order = c.numbers[0];
  if (order == 0 || c[0].count() == 0) return {};
  const auto axes = c.numbers.subspan(1);
  const Tensor& x = c[0];
  const Tensor norm = beside(c.results[0], x, axes), given = beside(c.cotangents[0], x, axes);
  if (std::isinf(order)) return {sign(x) * shares_of(abs(x), norm, given, axes)};
  if (order == 1) return {given * sign(x)};
  const Tensor is_zero = norm == 0.0, divisor = where(is_zero, 1.0, norm);
  if (order == 2) return {scaled(given, where(is_zero, 0.0, x / divisor))};
  const Tensor has_none = logical_or(is_zero, x == 0.0);
  const Tensor share = where(has_none, 1.0, abs(x) / divisor);
  return {scaled(given, where(has_none, 0.0, sign(x) * pow(share, order - 1)))};
}

// The root of a sum of powers. Its derivative is 0 where the sum is 0.
Tensors of_root_of_sum(C c) {
  const double order = c.numbers[0];
  const Tensor is_zero = c[0] == 0.0;
  return {where(is_zero, 0.0, pow(where(is_zero, 1.0, c[0]), order - 1) * order)};
}

constexpr Rule reduction_rules[] = {
    {.name = "logsumexp", .cotangents = of_logsumexp},
    {.name = "vector norm", .cotangents = of_vector_norm},
    {.name = "root of sum", .slopes = of_root_of_sum},
    {.name = "median of all",
     .cotangents = [](C c) -> Tensors {
       return {
           shares_of(c[0], beside(c.results[0], c[0], {}), beside(c.cotangents[0], c[0], {}), {})};
     }},
};

}  // namespace

std::span<const Rule> of_reductions() { return reduction_rules; }

}  // namespace tilewright::graph::rules
