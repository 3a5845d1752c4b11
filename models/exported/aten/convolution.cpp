// Convolutions, of any number of axes.
#include "graph/functions/convolving/windows.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using graph::all_places;
using graph::at_place;
using graph::padded;
using graph::pads;
using graph::window_count;
using graph::Windows;

constexpr std::int64_t most_terms = 64;  // of a sum that is written out

struct Convolution {
  Windows windows;
  Shape padding, output_padding;
  std::int64_t groups;
};

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

constexpr Operator rows[] = {
    {"aten.convolution.default", by<convolution>},
};

}  // namespace

std::span<const Operator> convolution_operators() { return rows; }

}  // namespace tilewright::exported
