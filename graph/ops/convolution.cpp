#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

namespace {

// A value an axis, each at least `least`.
void need_values(const Application& a, std::string_view what, const Shape& values, int axes,
                 std::int64_t least) {
  bool fits = values.rank() == axes;
  for (std::int64_t value : values) fits = fits && value >= least && value <= INT32_MAX;
  a.need(fits, what, " are ", values, "; there must be ", axes, ", each in [", least, ", ",
         INT32_MAX, "]");
}

}  // namespace

ValueType convolution(const Application& a) {
  const Attributes& of = a.attributes;
  const Shape &x = a.shape(0), &filters = a.shape(1);
  const int axes = x.rank() - 2;
  a.need_equal_dtypes();
  a.need_floating(0);
  a.need(axes >= 1 && axes <= 3 && filters.rank() == x.rank(), "x is ", x, ", the filters are ",
         filters, "; both must have one to three axes behind the first two");
  need_values(a, "the numbers of windows", of.sizes, axes, 0);
  need_values(a, "the strides", of.window_strides, axes, 1);
  need_values(a, "the dilations", of.dilations, axes, 1);
  need_values(a, "the zeros before", of.before, axes, 0);
  a.need(of.groups >= 1 && filters[0] % of.groups == 0 && x[1] == filters[1] * of.groups, "x is ",
         x, ", the filters are ", filters, " in ", of.groups,
         " groups; the channels must be those of all groups, and each has as many filters");
  Shape one_image(x.begin() + 1, x.end()), one_filter(filters.begin() + 1, filters.end());
  a.need(element_count(one_image) > 0 && element_count(one_filter) > 0, "x is ", x,
         ", the filters are ", filters, "; an image and a filter must have an element");
  a.need(a.count() < 3 || a.shape(2) == Shape{filters[0]}, "the bias is ",
         a.count() < 3 ? x : a.shape(2), ", the filters are ", filters, "; the bias must have ",
         filters[0], " elements");
  Shape result = {x[0], filters[0]};
  result.insert(result.end(), of.sizes.begin(), of.sizes.end());
  return {a.dtype_of(0), result};
}

}  // namespace rules

namespace {

// One image or filter with three axes, the first ones of size 1 where there are fewer.
std::array<std::int64_t, 3> three(const Shape& values, std::int64_t filler) {
  std::array<std::int64_t, 3> result = {filler, filler, filler};
  std::ranges::copy_backward(values, result.end());
  return result;
}

}  // namespace

HostTensor meaning(The<Op::convolution>, const Node& node, const Operands& operands) {
  const HostTensor &x = *operands[0], &filters = *operands[1];
  const Attributes& of = node.attributes;
  const std::int64_t channels = filters.shape[1], outputs = filters.shape[0];
  const auto sizes = three(Shape(x.shape.begin() + 2, x.shape.end()), 1);
  const auto kernel = three(Shape(filters.shape.begin() + 2, filters.shape.end()), 1);
  const auto windows = three(of.sizes, 1), strides = three(of.window_strides, 1);
  const auto dilations = three(of.dilations, 1), before = three(of.before, 0);
  const std::int64_t all_windows = windows[0] * windows[1] * windows[2];
  const std::int64_t places = kernel[0] * kernel[1] * kernel[2];
  HostTensor result(node.dtype, node.shape);
  auto element = [&](std::int64_t window, std::int64_t place) -> std::optional<std::int64_t> {
    std::int64_t at = 0, step = 1;
    for (std::size_t i = 3; i-- > 0;) {
      const std::int64_t along =
          window % windows[i] * strides[i] + place % kernel[i] * dilations[i] - before[i];
      if (along < 0 || along >= sizes[i]) return std::nullopt;
      at += along * step;
      step *= sizes[i];
      window /= windows[i];
      place /= kernel[i];
    }
    return at;
  };
  const std::int64_t image = sizes[0] * sizes[1] * sizes[2];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const std::int64_t window = i % all_windows, output = i / all_windows % outputs;
    const std::int64_t first =
        i / all_windows / outputs * x.shape[1] + output / (outputs / of.groups) * channels;
    double total = operands.size() > 2 ? operands[2]->number(output) : 0;
    for (std::int64_t place = 0; place < places; ++place)
      if (const auto at = element(window, place))
        for (std::int64_t c = 0; c < channels; ++c)
          total += x.number((first + c) * image + *at) *
                   filters.number((output * channels + c) * places + place);
    result.set_number(i, total);
  }
  return result;
}

}  // namespace tilewright::graph
