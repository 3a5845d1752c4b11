// Means and maxima over windows, which lie regularly or divide an axis into a given number of
// parts.
#include <algorithm>
#include <limits>

#include "graph/functions/convolving/windows.h"
#include "models/exported/aten/numbered.h"
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
constexpr std::int64_t most_parts = 1 << 16;
constexpr std::int64_t most_cells = 1 << 26;  // of all windows together

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

// The windows of one axis: the element that each begins with, of an axis with `size` elements, and
// how many it has. Elements outside the axis do not count.
struct AxisWindows {
  std::int64_t size, dilation;
  std::vector<std::int64_t> starts, lengths;
};

// Part i of n goes from the element i size / n, rounded down, to (i + 1) size / n, rounded up.
AxisWindows divided(std::int64_t size, std::int64_t parts) {
  AxisWindows axis{size, 1, {}, {}};
  for (std::int64_t i = 0; i < parts; ++i) {
    axis.starts.push_back(i * size / parts);
    axis.lengths.push_back(((i + 1) * size + parts - 1) / parts - axis.starts.back());
  }
  return axis;
}

// Of all axes together, row-major: the numbers of the elements that a window meets, [places,
// windows], and whether there is one at that place.
struct Cells {
  std::vector<std::int64_t> numbers;
  std::vector<std::uint8_t> are_inside;
  std::int64_t places = 1, windows = 1;
  Shape counts;  // of windows, an axis each
};

std::int64_t longest(const AxisWindows& axis) {
  return axis.lengths.empty() ? 0 : std::ranges::max(axis.lengths);
}

Cells cells_of(const std::vector<AxisWindows>& axes) {
  Cells cells;
  for (const AxisWindows& axis : axes) {
    cells.counts.push_back(std::ssize(axis.starts));
    cells.windows *= cells.counts.back();
    cells.places *= longest(axis);
  }
  require(cells.windows <= most_cells &&
              cells.places <= most_cells / std::max<std::int64_t>(cells.windows, 1),
          "[exported] ", cells.windows, " windows of ", cells.places, " elements are too many");
  for (std::int64_t place = 0; place < cells.places; ++place)
    for (std::int64_t window = 0; window < cells.windows; ++window) {
      std::int64_t number = 0, stride = 1, p = place, w = window;
      bool is_inside = true;
      for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        auto i = static_cast<std::size_t>(w % std::ssize(axis->starts));
        std::int64_t at = p % longest(*axis);
        std::int64_t element = axis->starts[i] + at * axis->dilation;
        is_inside = is_inside && at < axis->lengths[i] && element >= 0 && element < axis->size;
        number += element * stride;
        stride *= axis->size;
        w /= std::ssize(axis->starts);
        p /= longest(*axis);
      }
      cells.numbers.push_back(is_inside ? number : 0);
      cells.are_inside.push_back(is_inside);
    }
  return cells;
}

// What windows meet in x, [.., places, windows], with `missing` where there is nothing.
struct Met {
  Tensor elements, numbers, are_inside;
  Shape sizes;  // of the result
};
Met met(const Tensor& x, const std::vector<AxisWindows>& axes, const Number& missing) {
  Cells cells = cells_of(axes);
  int kept = x.rank() - static_cast<int>(axes.size());
  Shape flat(x.shape().begin(), x.shape().begin() + kept), sizes = flat;
  std::int64_t count = 1;
  for (const AxisWindows& axis : axes) count *= axis.size;
  flat.push_back(count);
  sizes.insert(sizes.end(), cells.counts.begin(), cells.counts.end());
  Shape table = {cells.places, cells.windows};
  Tensor numbers = Tensor::from(cells.numbers, table);
  Tensor are_inside = Tensor::from(cells.are_inside, table) != 0;
  std::vector<Tensor> indices(static_cast<std::size_t>(kept) + 1);
  indices.back() = numbers;
  Tensor elements = indexed(x.reshape(flat), indices);
  Tensor other = is_floating(x.dtype()) ? full({}, missing.as_double(), x.dtype())
                                        : full({}, missing.as_integer(), x.dtype());
  return {where(are_inside, elements, other), numbers, are_inside, sizes};
}

std::vector<AxisWindows> divided_axes(const Call& call, const Tensor& x, int rank) {
  Shape parts = not_negative(call, "output_size", rank);
  std::vector<AxisWindows> axes;
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = x.size(x.rank() - rank + i);
    if (size == 0 || parts[i] == 0 || parts[i] > most_parts)
      call.refuse("output_size", concat("is ", parts[i], " of an axis of ", size));
    axes.push_back(divided(size, parts[i]));
  }
  return axes;
}

Tensor averaged_parts(const Call& call, int rank) {
  Tensor x = call.tensor("self");
  Tensor wide = x.to(accumulator(x.dtype()));
  Met all = met(wide, divided_axes(call, x, rank), 0);
  Tensor count = sum(all.are_inside.to(f32), {0});
  return (sum(all.elements, {-2}) / count).to(x.dtype()).reshape(all.sizes);
}

// The greatest, and its number among the elements of the axes.
std::vector<Tensor> greatest(const Tensor& x, const std::vector<AxisWindows>& axes) {
  Number least = -std::numeric_limits<double>::infinity();
  if (!is_floating(x.dtype()))
    least = is_signed(x.dtype()) ? -(std::int64_t{1} << (bit_width(x.dtype()) - 2)) * 2 : 0;
  Met all = met(x, axes, least);
  auto [values, places] = max(all.elements, -2);
  std::int64_t windows = all.numbers.size(1);
  Tensor numbers = elements_at(all.numbers, places * windows + arange(0, windows));
  return {values.reshape(all.sizes), numbers.reshape(all.sizes)};
}

std::vector<Tensor> greatest_of_parts(const Call& call, int rank) {
  Tensor x = call.tensor("self");
  return greatest(x, divided_axes(call, x, rank));
}

std::vector<Tensor> greatest_of_windows(const Call& call, int rank) {
  Tensor x = call.tensor("self");
  Shape kernel = positive(call, "kernel_size", rank, {});
  bool has_stride = call.has("stride") && !call.integers("stride").empty();
  Shape stride = has_stride ? positive(call, "stride", rank, {}) : kernel,
        padding = not_negative(call, "padding", rank),
        dilation = positive(call, "dilation", rank, Shape(static_cast<std::size_t>(rank), 1));
  bool ceil_mode = call.flag("ceil_mode", false);
  std::vector<AxisWindows> axes;
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = x.size(x.rank() - rank + i), span = dilation[i] * (kernel[i] - 1) + 1;
    if (2 * padding[i] > kernel[i] || size + 2 * padding[i] < span || kernel[i] > most_parts)
      call.refuse("kernel_size", concat("does not fit an axis of ", size));
    PooledAxis pooled = pooled_axis(size, span, stride[i], padding[i], ceil_mode, true);
    AxisWindows axis{size, dilation[i], {}, {}};
    for (std::int64_t w = 0; w < std::ssize(pooled.counts); ++w) {
      axis.starts.push_back(w * stride[i] - padding[i]);
      axis.lengths.push_back(kernel[i]);
    }
    axes.push_back(std::move(axis));
  }
  return greatest(x, axes);
}

constexpr Operator rows[] = {
    {"aten.avg_pool2d.default", [](const Call& c) { return averaged(c, 2); }},
    {"aten.avg_pool3d.default", [](const Call& c) { return averaged(c, 3); }},
    {"aten._adaptive_avg_pool2d.default", [](const Call& c) { return averaged_parts(c, 2); }},
    {"aten._adaptive_avg_pool3d.default", [](const Call& c) { return averaged_parts(c, 3); }},
    {"aten.adaptive_max_pool2d.default", [](const Call& c) { return greatest_of_parts(c, 2); }},
    {"aten.adaptive_max_pool3d.default", [](const Call& c) { return greatest_of_parts(c, 3); }},
    {"aten.max_pool2d_with_indices.default",
     [](const Call& c) { return greatest_of_windows(c, 2); }},
    {"aten.max_pool3d_with_indices.default",
     [](const Call& c) { return greatest_of_windows(c, 3); }},
};

}  // namespace

std::span<const Operator> pooling_operators() { return rows; }

}  // namespace tilewright::exported
