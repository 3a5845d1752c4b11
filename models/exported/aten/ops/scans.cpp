// Sums, products and extrema up to each element of an axis.
#include <algorithm>

#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/differences.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
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

constexpr Operator rows[] = {
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

std::span<const Operator> scan_operators() { return rows; }

}  // namespace tilewright::exported
