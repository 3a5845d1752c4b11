// Sums, products and extrema up to each element of an axis.
#include <algorithm>

#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/differences.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace scan_rows {
namespace {

Tensor differences(const Call& call) {
  const int axis = call.axis("dim", -1);
  std::vector<Tensor> parts;
  if (call.has("prepend")) parts.push_back(call.tensor("prepend"));
  parts.push_back(call.tensor("self"));
  if (call.has("append")) parts.push_back(call.tensor("append"));
  const std::int64_t times = call.integer("n", 1);
  if (times < 0 || times > 1000) call.refuse("n", concat("is ", times));
  return diff(parts.size() == 1 ? parts[0] : cat(parts, axis), static_cast<int>(times), axis);
}

Tensor area(const Call& call) {
  const int axis = call.axis("dim", -1);
  if (call.has("x")) return trapezoid(call.tensor("y"), call.tensor("x"), axis);
  return trapezoid(call.tensor("y"), call.number("dx", 1), axis);
}
// Up to each element but the first.
Tensor area_so_far(const Call& call) {
  Tensor y = call.tensor("y");
  const int axis = call.axis("dim", -1);
  const std::int64_t size = y.size(axis);
  Tensor heights =
      (y.slice(axis, 1, size) + y.slice(axis, 0, std::max<std::int64_t>(size - 1, 0))) / 2.0;
  if (!call.has("x")) return cumsum(heights * call.number("dx", 1), axis);
  Tensor x = call.tensor("x");
  Tensor widths = diff(x, 1, x.rank() == 1 ? -1 : axis);
  if (x.rank() == 1) {
    Shape along(static_cast<std::size_t>(y.rank()), 1);
    along[axis < 0 ? axis + y.rank() : axis] = widths.count();
    widths = widths.reshape(along);
  }
  return cumsum(heights * widths, axis);
}

// Derivatives along an axis of points that lie at equal distances, or where `points` says: by both
// neighbours of second order, at the ends by one of first or second order.
Tensor slope(const Call& call, const Tensor& x, int axis, const Tensor& points) {
  const std::int64_t size = x.size(axis), order = call.integer("edge_order", 1);
  if (order != 1 && order != 2) call.refuse("edge_order", concat("is ", order, ", not 1 or 2"));
  require(size > order, "[exported] a derivative along ", size, " elements; at least ", order + 1,
          " are wanted");
  Shape along(static_cast<std::size_t>(x.rank()), 1);
  along[axis] = size - 1;
  Tensor step = diff(points, 1, 0).reshape(along);
  auto cut = [&](const Tensor& t, std::int64_t from, std::int64_t end) {
    return t.slice(axis, from, end);
  };
  Tensor left = cut(step, 0, size - 2), right = cut(step, 1, size - 1);
  Tensor quotients = diff(x, 1, axis) / step;
  Tensor inner =
      (cut(quotients, 0, size - 2) * right + cut(quotients, 1, size - 1) * left) / (left + right);
  auto end_of = [&](std::int64_t near, std::int64_t far) {
    Tensor q = cut(quotients, near, near + 1);
    if (order == 1) return q;
    Tensor a = cut(step, near, near + 1), b = cut(step, far, far + 1);
    return q + (q - cut(quotients, far, far + 1)) * a / (a + b);
  };
  return cat({end_of(0, 1), inner, end_of(size - 2, size - 3)}, axis);
}
std::vector<int> slope_axes(const Call& call, const Tensor& x) {
  std::vector<int> axes;
  if (call.has("dim")) {
    const ArgumentValue* value = nullptr;
    for (const Argument& argument : call.node().arguments)
      if (argument.name == "dim") value = &argument.value;
    if (std::holds_alternative<std::int64_t>(*value))
      axes = {call.axis("dim")};
    else
      axes = call.axes("dim");
  } else {
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  for (int& axis : axes) {
    const auto known = normalise_axis(axis, x.rank());
    if (!known) call.refuse("dim", concat("is ", axis, "; the tensor is [", x.shape(), "]"));
    axis = *known;
  }
  return axes;
}
// One distance for all axes, one an axis, or the points of each.
enum class Spacing : std::uint8_t { one, numbers, points };
template <Spacing spacing>
std::vector<Tensor> slopes(const Call& call) {
  Tensor x = call.tensor("self");
  if (!is_floating(x.dtype())) x = x.to(f32);
  const std::vector<int> axes = slope_axes(call, x);
  std::vector<double> distances;
  std::vector<Tensor> points;
  if (spacing == Spacing::one) distances.assign(axes.size(), call.number("spacing", 1));
  if (spacing == Spacing::numbers) distances = call.numbers("spacing");
  if (spacing == Spacing::points) points = call.tensors("spacing");
  if (std::max(distances.size(), points.size()) != axes.size())
    call.refuse("spacing", concat("has not ", axes.size(), " values, one an axis"));
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Tensor at = spacing == Spacing::points
                    ? points[i].to(x.dtype())
                    : arange(0, x.size(axes[i])).to(x.dtype()) * distances[i];
    all.push_back(slope(call, x, axes[i], at));
  }
  return all;
}

// Powers from 0 on, along a new last axis.
Tensor powers(const Call& call) {
  Tensor x = call.tensor("x");
  if (x.rank() == 0) x = x.reshape({1});
  const std::int64_t count = call.integer("N", x.size(-1));
  if (count < 1) call.refuse("N", concat("is ", count, "; at least 1 is wanted"));
  if (is_boolean(x.dtype())) x = x.to(i64);
  Shape first = x.shape(), others = x.shape();
  first.push_back(1);
  others.push_back(count - 1);
  Tensor one = ones(first, x.dtype());
  if (count == 1) return one;
  return cat({one, cumprod(x.unsqueeze(-1).expand(others), -1)}, -1);
}

constexpr Operator rows[] = {
    {"aten.gradient.scalarint", by<slopes<Spacing::one>>},
    {"aten.gradient.scalararray", by<slopes<Spacing::one>>},
    {"aten.gradient.array", by<slopes<Spacing::one>>},
    {"aten.gradient.scalarrayint", by<slopes<Spacing::numbers>>},
    {"aten.gradient.scalarrayarray", by<slopes<Spacing::numbers>>},
    {"aten.gradient.tensorarrayint", by<slopes<Spacing::points>>},
    {"aten.gradient.tensorarray", by<slopes<Spacing::points>>},
    {"aten.linalg_vander.default", by<powers>},
    {"aten.cumsum.default",
     [](const Call& c) { return cumsum(c.tensor("self"), c.axis("dim"), c.dtype()); }},
    {"aten.cumprod.default",
     [](const Call& c) { return cumprod(c.tensor("self"), c.axis("dim"), c.dtype()); }},
    {"aten.logcumsumexp.default",
     [](const Call& c) { return logcumsumexp(c.tensor("self"), c.axis("dim")); }},
    {"aten.diff.default", by<differences>},
    {"aten.trapezoid.x", by<area>},
    {"aten.trapezoid.dx", by<area>},
    {"aten.cumulative_trapezoid.x", by<area_so_far>},
    {"aten.cumulative_trapezoid.dx", by<area_so_far>},
    {"aten.cummax.default", [](const Call& c) { return cummax(c.tensor("self"), c.axis("dim")); }},
    {"aten.cummin.default", [](const Call& c) { return cummin(c.tensor("self"), c.axis("dim")); }},
};

}  // namespace
}  // namespace scan_rows

std::span<const Operator> scan_operators() { return scan_rows::rows; }

}  // namespace tilewright::exported
