// Sums, products and extrema up to each element of an axis.
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/differences.h"
#include "graph/functions/reducing/products.h"
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
Tensor area_so_far(const Call& call) {
  const int axis = call.axis("dim", -1);
  if (call.has("x")) return cumulative_trapezoid(call.tensor("y"), call.tensor("x"), axis);
  return cumulative_trapezoid(call.tensor("y"), call.number("dx", 1), axis);
}

// One axis, or several; all where none is named.
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
  const Tensor x = call.tensor("self");
  SlopeOptions options{.axes = slope_axes(call, x)};
  const std::int64_t order = call.integer("edge_order", 1);
  if (order != 1 && order != 2) call.refuse("edge_order", concat("is ", order, ", not 1 or 2"));
  options.edge_order = static_cast<int>(order);
  if (spacing == Spacing::one) options.steps = {call.number("spacing", 1)};
  if (spacing == Spacing::numbers) options.steps = call.numbers("spacing");
  if (spacing == Spacing::points) options.places = call.tensors("spacing");
  const std::size_t given =
      spacing == Spacing::points ? options.places.size() : options.steps.size();
  if (spacing != Spacing::one && given != options.axes.size())
    call.refuse("spacing", concat("has not ", options.axes.size(), " values, one an axis"));
  return gradient(x, options);
}

constexpr Operator rows[] = {
    {"aten.gradient.scalarint", by<slopes<Spacing::one>>},
    {"aten.gradient.scalararray", by<slopes<Spacing::one>>},
    {"aten.gradient.array", by<slopes<Spacing::one>>},
    {"aten.gradient.scalarrayint", by<slopes<Spacing::numbers>>},
    {"aten.gradient.scalarrayarray", by<slopes<Spacing::numbers>>},
    {"aten.gradient.tensorarrayint", by<slopes<Spacing::points>>},
    {"aten.gradient.tensorarray", by<slopes<Spacing::points>>},
    {"aten.linalg_vander.default",
     [](const Call& c) {
       return linalg_vander(c.tensor("x"),
                            c.has("N") ? std::optional(c.integer("N")) : std::nullopt);
     }},
    {"aten.vander.default",
     [](const Call& c) {
       Tensor powers =
           linalg_vander(c.tensor("x"), c.has("N") ? std::optional(c.integer("N")) : std::nullopt);
       return c.flag("increasing", false) ? powers : powers.flip({-1});
     }},
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
