// Derivatives of reductions.
#include <algorithm>

#include "graph/ops/derivatives/differential.h"
#include "graph/ops/reductions.h"

namespace tilewright::graph {

namespace {

double elements_over_axes(const Differential& d) {
  std::int64_t count = 1;
  for (int axis : d.node.attributes.axes) count *= d.operands[0].shape()[axis];
  return static_cast<double>(count);
}

// Equal shares for all elements that are the extremum, or for NaN, of which it is one then.
Term shared_extremum(const Term& x, const Term& y, const Term& g, const std::vector<int>& axes) {
  Term is_it = either(compared(Op::eq, x, y.like(x)), compared(Op::ne, x, x));
  Term count = summed(choice(is_it, x.number(1), x.number(0)), axes);
  return choice(is_it, (g / count).like(x), x.number(0));
}

// The element that the place names.
Cotangents of_placed(const Differential& d) {
  if (!d.cotangents[0]) return d.none();
  const Term g = d.cotangent(), &x = d.operands[0];
  const int axis = d.node.attributes.axes[0];
  Term is_it = compared(Op::eq, places_along(x, x.shape(), axis, DType::i64), d.results[1].like(x));
  Term spread = g.like(x);
  return {choice(is_it, spread, spread.number(0))};
}

}  // namespace

Cotangents derivative(The<Op::sum>, const Differential& d) {
  return {d.cotangents[0]->like(d.operands[0])};
}
// By the products of all others, of those before and of those behind, so that zeros are no matter.
Cotangents derivative(The<Op::prod>, const Differential& d) {
  const std::vector<int>& axes = d.node.attributes.axes;
  Term x = d.operand(0), g = d.cotangent();
  const Shape shape = x.shape();
  std::vector<int> order, back(shape.size());
  for (int i = 0; i < shape.rank(); ++i)
    if (std::ranges::find(axes, i) == axes.end()) order.push_back(i);
  order.insert(order.end(), axes.begin(), axes.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  Term moved = x.make(Op::permute, {x.id}, {.axes = order, .sizes = {}});
  const auto count = static_cast<std::int64_t>(elements_over_axes(d));
  if (count == 0 || element_count(shape) == 0) return d.none();
  Term rows = moved.reshape({element_count(shape) / count, count});
  auto others_before = [&](const Term& all) {
    Term ones = zeros_of(all, {all.shape()[0], 1}) + 1.0;
    Term shifted = joined({ones, sliced(all, 1, 0, count - 1)}, 1);
    return cumulated(shifted, 1, ir::ReduceKind::prod);
  };
  Term others = others_before(rows) * reversed(others_before(reversed(rows, 1)), 1);
  Term placed = others.reshape(moved.shape());
  Term slope = placed.make(Op::permute, {placed.id}, {.axes = back, .sizes = {}});
  return {scaled(g.like(x), slope)};
}
Cotangents derivative(The<Op::amax>, const Differential& d) {
  return {shared_extremum(d.operand(0), d.result(), d.cotangent(), d.node.attributes.axes)};
}
Cotangents derivative(The<Op::amin>, const Differential& d) {
  return {shared_extremum(d.operand(0), d.result(), d.cotangent(), d.node.attributes.axes)};
}
Cotangents derivative(The<Op::max>, const Differential& d) { return of_placed(d); }
Cotangents derivative(The<Op::min>, const Differential& d) { return of_placed(d); }
Cotangents derivative(The<Op::aminmax>, const Differential& d) { return by_decomposition(d); }

Cotangents derivative(The<Op::mean>, const Differential& d) {
  return {(d.cotangent() * (1 / elements_over_axes(d))).like(d.operands[0])};
}

namespace {

// 2 (x - mean) / (n - correction) for each element.
Term slope_of_variance(const Differential& d) {
  const std::vector<int>& axes = d.node.attributes.axes;
  Term x = d.operand(0);
  const double freedom = std::max(0.0, elements_over_axes(d) - d.node.attributes.number);
  Term deviation = x - average(x, axes).like(x);
  return deviation / deviation.number(freedom / 2);
}

}  // namespace
Cotangents derivative(The<Op::var>, const Differential& d) {
  Term slope = slope_of_variance(d);
  return {scaled(d.cotangent().like(slope), slope)};
}
Cotangents derivative(The<Op::var_mean>, const Differential& d) {
  Term slope = slope_of_variance(d);
  Term of_mean = (d.cotangent(1) * (1 / elements_over_axes(d))).like(slope);
  return {scaled(d.cotangent().like(slope), slope) + of_mean};
}
// 0 where all elements are equal.
Cotangents derivative(The<Op::stddev>, const Differential& d) {
  Term y = d.result(), slope = slope_of_variance(d), g = d.cotangent();
  Term is_zero = compared(Op::eq, y, 0);
  Term half = g / choice(is_zero, y.number(1), y * 2.0);
  Term through = choice(is_zero, half.number(0), half);
  return {scaled(through.like(slope), slope)};
}

}  // namespace tilewright::graph
