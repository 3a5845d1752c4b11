// Derivatives of running sums, products and extrema.
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

// The sum of each element and all behind it.
Term sums_behind(const Term& x, int axis) {
  return reversed(cumulated(reversed(x, axis), axis, ir::ReduceKind::sum), axis);
}

// Elements `step` places further along the axis, 0 behind the last.
Term further(const Term& x, int axis, std::int64_t step) {
  Shape behind = x.shape();
  behind[axis] = step;
  return joined({sliced(x, axis, step, x.shape()[axis]), zeros_of(x, behind)}, axis);
}

// The product of all before, times the sum of the cotangents from here on, each times the elements
// between. The sums s[j] = g[j] + x[j + 1] s[j + 1] are made in steps of doubled length. Without
// divisions zeros are no matter, to any order.
Term of_products(const Differential& d, int axis) {
  Term x = d.operand(0), sum = d.cotangent();
  const std::int64_t size = x.shape()[axis];
  Shape first = x.shape();
  first[axis] = 1;
  Term before = joined({zeros_of(x, first) + 1.0, sliced(d.result(), axis, 0, size - 1)}, axis);
  Term between = further(x, axis, 1);
  for (std::int64_t step = 1; step < size; step *= 2) {
    sum = sum + between * further(sum, axis, step);
    between = between * further(between, axis, step);
  }
  return sum * before;
}

// The cotangent goes to the last element that equals the running extremum, or to the last NaN.
Term of_extrema(const Differential& d, int axis) {
  Term x = d.operand(0), g = d.cotangent(), place = places_along(x, x.shape(), axis, DType::i64);
  Term is_it = either(compared(Op::eq, x, d.result()), compared(Op::ne, x, x));
  Term latest = cumulated(choice(is_it, place, place.number(0)), axis, ir::ReduceKind::max);
  Attributes attributes;
  attributes.axes = {axis};
  return g.make(Op::scatter_reduce, {g.number(0).id, latest.id, g.id}, attributes);
}

}  // namespace

Cotangents derivative(The<Op::cumulate>, const Differential& d) {
  const int axis = d.node.attributes.axes[0];
  if (element_count(d.node.shape) == 0) return d.none();
  const ir::ReduceKind kind = d.node.attributes.reduction;
  if (kind == ir::ReduceKind::sum) return {sums_behind(d.cotangent(), axis)};
  if (kind == ir::ReduceKind::prod) return {of_products(d, axis)};
  return {of_extrema(d, axis)};
}

}  // namespace tilewright::graph
