#include "graph/functions/reducing/differences.h"

#include <algorithm>

#include "graph/functions/pointwise/formula.h"
#include "graph/functions/reducing/cumulative.h"
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

namespace {

// Means of neighbours.
Tensor heights_of(const Tensor& y, int axis) {
  const std::int64_t size = y.size(axis);
  return (y.slice(axis, std::min<std::int64_t>(1, size), size) +
          y.slice(axis, 0, std::max<std::int64_t>(size - 1, 0))) /
         2.0;
}

// Along an axis whose elements lie at these places.
Tensor slope_along(const Tensor& x, int axis, const Tensor& places, int order) {
  const std::int64_t size = x.size(axis);
  Shape along(static_cast<std::size_t>(x.rank()), 1);
  along[axis] = size - 1;
  const Tensor step = diff(places, 1, 0).reshape(along);
  auto cut = [&](const Tensor& t, std::int64_t from, std::int64_t end) {
    return t.slice(axis, from, end);
  };
  const Tensor left = cut(step, 0, size - 2), right = cut(step, 1, size - 1);
  const Tensor quotients = diff(x, 1, axis) / step;
  const Tensor inner =
      (cut(quotients, 0, size - 2) * right + cut(quotients, 1, size - 1) * left) / (left + right);
  auto end_of = [&](std::int64_t near, std::int64_t far) {
    const Tensor q = cut(quotients, near, near + 1);
    if (order == 1) return q;
    const Tensor a = cut(step, near, near + 1), b = cut(step, far, far + 1);
    return q + (q - cut(quotients, far, far + 1)) * a / (a + b);
  };
  return cat({end_of(0, 1), inner, end_of(size - 2, size - 3)}, axis);
}

}  // namespace

Tensor cumulative_trapezoid(const TensorOperand& y, double step, int axis) {
  const Tensor& given = graph::tensor_of(y, "cumulative_trapezoid");
  const int along = graph::axis_of(axis, given.shape(), "cumulative_trapezoid", y.where);
  return cumsum(heights_of(given, along) * step, along);
}
Tensor cumulative_trapezoid(const TensorOperand& y, const Tensor& x, int axis) {
  const Tensor& given = graph::tensor_of(y, "cumulative_trapezoid");
  const int along = graph::axis_of(axis, given.shape(), "cumulative_trapezoid", y.where);
  Tensor widths = diff(x, 1, x.rank() == 1 ? -1 : along);
  if (x.rank() == 1) {
    Shape sizes(static_cast<std::size_t>(given.rank()), 1);
    sizes[along] = widths.count();
    widths = widths.reshape(sizes);
  }
  return cumsum(heights_of(given, along) * widths, along);
}

std::vector<Tensor> gradient(const TensorOperand& operand, const SlopeOptions& options) {
  const source_location w = operand.where;
  Tensor y = graph::tensor_of(operand, "gradient");
  if (!is_floating(y.dtype())) y = y.to(DType::f32);
  std::vector<int> axes = options.axes;
  if (axes.empty())
    for (int axis = 0; axis < y.rank(); ++axis) axes.push_back(axis);
  require(options.edge_order == 1 || options.edge_order == 2, "[gradient] the edge order is ",
          options.edge_order, " (at ", At{w}, "); 1 or 2 is wanted");
  const bool has_places = !options.places.empty();
  const std::size_t given = has_places ? options.places.size() : options.steps.size();
  require(given == axes.size() || (!has_places && given == 1), "[gradient] ", given,
          " spacings of ", axes.size(), " axes (at ", At{w}, "); one an axis is wanted");
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = graph::axis_of(axes[i], y.shape(), "gradient", w);
    require(y.size(axis) > options.edge_order, "[gradient] along ", y.size(axis), " elements (at ",
            At{w}, "); at least ", options.edge_order + 1, " are wanted");
    const Tensor places =
        has_places ? options.places[i].to(y.dtype())
                   : arange(0, y.size(axis)).to(y.dtype()) * options.steps[given == 1 ? 0 : i];
    all.push_back(slope_along(y, axis, places, options.edge_order));
  }
  return all;
}

Tensor trapz(const TensorOperand& y, double step, int axis) { return trapezoid(y, step, axis); }
Tensor trapz(const TensorOperand& y, const Tensor& x, int axis) { return trapezoid(y, x, axis); }

}  // namespace tilewright
