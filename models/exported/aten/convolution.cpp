// Convolutions, of any number of axes, and means over windows.
#include <algorithm>

#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

constexpr std::int64_t most_terms = 64;  // of a sum that is written out

struct Convolution {
  Windows windows;
  Shape padding, output_padding;
  std::int64_t groups;
};

// One value stands for all axes.
Shape of_axes(const Call& call, std::string_view name, int rank, const Shape& missing) {
  Shape values = call.integers(name, missing);
  if (values.rank() == 1 && rank > 1) values = Shape(static_cast<std::size_t>(rank), values[0]);
  if (values.rank() != rank) call.refuse(name, concat("has not ", rank, " values"));
  return values;
}
Shape positive(const Call& call, std::string_view name, int rank, const Shape& missing) {
  Shape values = of_axes(call, name, rank, missing);
  for (std::int64_t value : values)
    if (value < 1 || value > INT32_MAX) call.refuse(name, concat("has the value ", value));
  return values;
}
Shape not_negative(const Call& call, std::string_view name, int rank) {
  Shape values = of_axes(call, name, rank, Shape(static_cast<std::size_t>(rank), 0));
  for (std::int64_t value : values)
    if (value < 0 || value > INT32_MAX) call.refuse(name, concat("has the value ", value));
  return values;
}

// In the order of `padded`, the last axis first.
Shape pads(const Shape& before, const Shape& after) {
  Shape pad;
  for (int i = before.rank() - 1; i >= 0; --i) pad.insert(pad.end(), {before[i], after[i]});
  return pad;
}

// [channels, 1, ..] as it meets [N, channels, ..].
Tensor by_channel(const Tensor& t, int axes) {
  Shape sizes(static_cast<std::size_t>(axes) + 1, 1);
  sizes[0] = t.count();
  return t.reshape(sizes);
}

// A filter a channel: the sum over the places of a window, element by element. Sums of 16 bits are
// carried in f32.
Tensor convolved_by_channel(const Tensor& x, const Tensor& weight, const Windows& windows) {
  std::int64_t places = element_count(windows.kernel);
  Tensor filters = weight.reshape({weight.size(0), places}).to(accumulator(x.dtype()));
  Tensor wide = x.to(accumulator(x.dtype())), total;
  for (std::int64_t place = 0; place < places; ++place) {
    Tensor term =
        at_place(wide, windows, place) * by_channel(filters.select(1, place), windows.rank());
    total = total.defined() ? total + term : term;
  }
  return total.to(x.dtype());
}

// x [N, C, ..], padded already, with weight [O, C / groups, kernel] -> [N, O, windows].
Tensor convolved(const Tensor& x, const Tensor& weight, const Convolution& c) {
  const Windows& windows = c.windows;
  std::int64_t outputs = weight.size(0), places = element_count(windows.kernel);
  Shape sizes = {x.size(0), outputs};
  for (int i = 0; i < windows.rank(); ++i) sizes.push_back(window_count(windows, i, x.size(2 + i)));
  if (element_count(sizes) == 0) return zeros(sizes, x.dtype());
  if (c.groups == x.size(1) && outputs == c.groups && c.groups > 1 && places <= most_terms)
    return convolved_by_channel(x, weight, windows);
  Tensor columns = all_places(x, windows);  // [N, C, places, windows]
  std::int64_t inputs = x.size(1) / c.groups * places;
  columns = columns.reshape({x.size(0), c.groups, inputs, columns.size(-1)});
  Tensor filters = weight.reshape({1, c.groups, outputs / c.groups, inputs});
  if (c.groups == 1) return matmul(filters.select(1, 0), columns.select(1, 0)).reshape(sizes);
  return matmul(filters, columns).reshape(sizes);
}

// Of a transposed one: the gradient's convolution, x spread by the stride, filters turned round.
Tensor spread(const Tensor& x, const Shape& stride) {
  Tensor result = x;
  for (int i = 0; i < stride.rank(); ++i) {
    int axis = 2 + i;
    if (stride[i] == 1) continue;
    Shape gap = result.unsqueeze(axis + 1).shape(), joined = result.shape();
    gap[axis + 1] = stride[i] - 1;
    joined[axis] *= stride[i];
    std::int64_t size = (result.size(axis) - 1) * stride[i] + 1;
    result = cat({result.unsqueeze(axis + 1), zeros(gap, x.dtype())}, axis + 1).reshape(joined);
    result = result.slice(axis, 0, size);
  }
  return result;
}
// [C, O / groups, kernel] as [O, C / groups, kernel], each axis of the kernel backwards.
Tensor turned(const Tensor& weight, const Convolution& c) {
  std::int64_t places = element_count(c.windows.kernel), in = weight.size(0) / c.groups,
               out = weight.size(1);
  Tensor backwards = embedding(places - 1 - arange(0, places),
                               weight.reshape({weight.size(0) * out, places}).permute({1, 0}));
  Shape sizes = {c.groups * out, in};
  sizes.insert(sizes.end(), c.windows.kernel.begin(), c.windows.kernel.end());
  return backwards.permute({1, 0})
      .reshape({c.groups, in, out, places})
      .permute({0, 2, 1, 3})
      .reshape(sizes);
}
Tensor transposed(const Tensor& x, const Tensor& weight, Convolution c) {
  Shape before, after;
  for (int i = 0; i < c.windows.rank(); ++i) {
    std::int64_t reach = c.windows.dilation[i] * (c.windows.kernel[i] - 1);
    before.push_back(reach - c.padding[i]);
    after.push_back(reach - c.padding[i] + c.output_padding[i]);
  }
  Tensor around = padded(spread(x, c.windows.stride), pads(before, after), 0);
  Tensor filters = turned(weight, c);
  c.windows.stride = Shape(c.windows.stride.size(), 1);
  return convolved(around, filters, c);
}

Tensor convolution(const Call& call) {
  Tensor x = call.tensor("input"), weight = call.tensor("weight"),
         bias = call.optional_tensor("bias");
  int rank = weight.rank() - 2;
  bool is_single = x.rank() == rank + 1, is_transposed = call.flag("transposed", false);
  if (is_single) x = x.unsqueeze(0);
  require(rank >= 1 && x.rank() == rank + 2, "[exported] a convolution of [", x.shape(), "] by [",
          weight.shape(), "]; equal ranks are wanted");
  Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  Convolution c{{Shape(weight.shape().begin() + 2, weight.shape().end()),
                 positive(call, "stride", rank, ones_of_rank),
                 positive(call, "dilation", rank, ones_of_rank)},
                not_negative(call, "padding", rank),
                not_negative(call, "output_padding", rank),
                call.integer("groups", 1)};
  std::int64_t channels = is_transposed ? weight.size(0) : weight.size(1) * c.groups;
  require(c.groups >= 1 && weight.size(0) % c.groups == 0 && x.size(1) == channels &&
              element_count(c.windows.kernel) > 0,
          "[exported] a convolution of [", x.shape(), "] by [", weight.shape(), "] in ", c.groups,
          " groups; the channels do not agree");
  Tensor y = is_transposed ? transposed(x, weight, c)
                           : convolved(padded(x, pads(c.padding, c.padding), 0), weight, c);
  if (bias.defined()) y = y + by_channel(bias, rank);
  return is_single ? y.squeeze(0) : y;
}

// How the means over windows of one axis lie: what is added in front, behind, and how many elements
// count in each window.
struct PooledAxis {
  std::int64_t before, after;
  std::vector<float> counts;
};
PooledAxis pooled_axis(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, bool ceil_mode, bool include_pad) {
  std::int64_t room = size + 2 * padding - kernel;
  std::int64_t count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // A last window must begin in the tensor or what is in front of it.
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  PooledAxis axis{padding, (count - 1) * stride + kernel - size - padding, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t start = i * stride - padding, end = std::min(start + kernel, size + padding);
    axis.counts.push_back(static_cast<float>(
        include_pad ? end - start : std::min(end, size) - std::max<std::int64_t>(start, 0)));
  }
  return axis;
}

Tensor averaged(const Call& call, int rank) {
  Tensor x = call.tensor("self");
  Shape kernel = positive(call, "kernel_size", rank, {});
  bool has_stride = call.has("stride") && !call.integers("stride").empty();
  Windows windows{kernel, has_stride ? positive(call, "stride", rank, {}) : kernel,
                  Shape(static_cast<std::size_t>(rank), 1)};
  Shape padding = not_negative(call, "padding", rank);
  bool ceil_mode = call.flag("ceil_mode", false), include = call.flag("count_include_pad", true);
  Tensor divisor = full({}, 1, f32);
  Shape before, after;
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = x.size(x.rank() - rank + i);
    if (2 * padding[i] > kernel[i] || size + 2 * padding[i] < kernel[i])
      call.refuse("kernel_size", concat("does not fit an axis of ", size));
    PooledAxis axis =
        pooled_axis(size, kernel[i], windows.stride[i], padding[i], ceil_mode, include);
    Shape along(static_cast<std::size_t>(rank), 1);
    along[i] = std::ssize(axis.counts);
    divisor = divisor * Tensor::from(axis.counts, along);
    before.push_back(axis.before);
    after.push_back(axis.after);
  }
  if (call.has("divisor_override")) divisor = full({}, call.number("divisor_override"), f32);
  Tensor around = padded(x.to(accumulator(x.dtype())), pads(before, after), 0), total;
  std::int64_t places = element_count(kernel);
  if (places > most_terms) {
    total = sum(all_places(around, windows), {-2});
    Shape sizes = at_place(around, windows, 0).shape();
    total = total.reshape(sizes);
  } else {
    for (std::int64_t place = 0; place < places; ++place) {
      Tensor term = at_place(around, windows, place);
      total = total.defined() ? total + term : term;
    }
  }
  return (total / divisor).to(x.dtype());
}

constexpr Operator rows[] = {
    {"aten.convolution.default", by<convolution>},
    {"aten.avg_pool2d.default", [](const Call& c) { return averaged(c, 2); }},
    {"aten.avg_pool3d.default", [](const Call& c) { return averaged(c, 3); }},
};

}  // namespace

std::span<const Operator> convolution_operators() { return rows; }

}  // namespace tilewright::exported
