#include "graph/functions/reducing/differences.h"

#include <algorithm>

#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using graph::Terms;
using std::source_location;

namespace {

// All but the first or the last along an axis.
Formula after_first(const Formula& x, int axis) {
  const std::int64_t size = x.tensor().size(axis);
  return {x.tensor().slice(axis, std::min<std::int64_t>(1, size), size, 1, x.where()), x.where()};
}
Formula before_last(const Formula& x, int axis) {
  const std::int64_t size = x.tensor().size(axis);
  return {x.tensor().slice(axis, 0, std::max<std::int64_t>(size - 1, 0), 1, x.where()), x.where()};
}

int axis_of_samples(const Formula& y, int axis, std::string_view name) {
  const Shape& shape = y.tensor().shape();
  require(shape.rank() > 0, "[", name, "] the operand has no axes (at ", At{y.where()},
          "); neighbours are along an axis");
  return graph::axis_of(axis, shape, name, y.where());
}

Formula sum_over(const Formula& x, int axis) {
  return {sum({x.tensor(), x.where()}, {axis}), x.where()};
}

}  // namespace

Tensor diff(const TensorOperand& x, int times, int axis) {
  graph::tensor_of(x, "diff");
  require(times >= 0, "[diff] the times are ", times, " (at ", At{x.where},
          "); they must not be negative");
  Terms terms = graph::promoted("diff", {&x});
  const int along = axis_of_samples(terms[0], axis, "diff");
  if (times == 0) return x.tensor;
  auto formula = [&](const Terms& t) {
    Formula left = t[0];
    for (int i = 0; i < times; ++i) {
      Formula next = after_first(left, along), last = before_last(left, along);
      left = is_boolean(t.dtype) ? next != last : next - last;
    }
    return left;
  };
  return graph::computed("diff", terms, formula, {times, along});
}

Tensor trapezoid(const TensorOperand& y, double step, int axis) {
  graph::tensor_of(y, "trapezoid");
  Terms terms = graph::floating("trapezoid", {&y});
  const int along = axis_of_samples(terms[0], axis, "trapezoid");
  auto formula = [&](const Terms& t) {
    return sum_over(after_first(t[0], along) + before_last(t[0], along), along) * (step / 2);
  };
  return graph::computed("trapezoid", terms, formula, {step, along});
}

Tensor trapezoid(const TensorOperand& y, const Tensor& x, int axis) {
  source_location w = y.where;
  const Tensor samples = graph::tensor_of(y, "trapezoid");
  Tensor places = graph::tensor_of({x, w}, "trapezoid");
  const int along = axis_of_samples({samples, w}, axis, "trapezoid");
  if (places.rank() == 1) {
    Shape sizes(samples.shape().size(), 1);
    sizes[along] = places.count();
    places = graph::reshape_operand(places, sizes, w);
  }
  TensorOperand at(places, w);
  auto formula = [&](const Terms& t) {
    Formula heights = after_first(t[0], along) + before_last(t[0], along);
    Formula steps = after_first(t[1], along) - before_last(t[1], along);
    return sum_over(heights * steps, along) * 0.5;
  };
  return graph::computed("trapezoid of places", graph::floating("trapezoid", {&y, &at}), formula,
                         {along});
}

}  // namespace tilewright
