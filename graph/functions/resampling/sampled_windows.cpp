#include "graph/functions/resampling/sampled_windows.h"

#include <array>
#include <vector>

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

// One of the two elements that a position lies between along an axis.
struct Corner {
  Tensor place, weight;  // i64, f32
};
using Corners = std::array<Corner, 2>;

// 0 beyond the edges, towards which weights fall.
Corners falling_off(const Tensor& at, std::int64_t size) {
  const auto last = static_cast<double>(size - 1);
  Tensor low = floor(at), part = at - low;
  auto corner = [&](const Tensor& place, const Tensor& weight) {
    Tensor inside = clamp_max(clamp_min(place, 0.0), last);
    return Corner{inside.to(DType::i64), where(inside == place, weight, 0.0)};
  };
  return {corner(low, 1.0 - part), corner(low + 1.0, part)};
}

// As at the edge up to an element beyond it, and 0 further away.
Corners held_at_edges(const Tensor& at, std::int64_t size) {
  const auto last = static_cast<double>(size - 1);
  Tensor counts = logical_and(at >= -1.0, at <= static_cast<double>(size)).to(DType::f32);
  Tensor inside = clamp_max(clamp_min(at, 0.0), last), low = floor(inside), part = inside - low;
  return {Corner{low.to(DType::i64), (1.0 - part) * counts},
          Corner{clamp_max(low + 1.0, last).to(DType::i64), part * counts}};
}

// Elements of x [.., H, W] in the planes that begin at these numbers of elements, weighted.
Tensor between(const Tensor& x, const Tensor& planes, const Corners& rows, const Corners& columns) {
  Tensor result;
  for (const Corner& row : rows)
    for (const Corner& column : columns) {
      Tensor met = take(x, planes + (row.place * x.size(-1) + column.place)).to(DType::f32);
      Tensor term = met * (row.weight * column.weight);
      result = result.defined() ? result + term : term;
    }
  return result;
}

void require_images(const Tensor& x, const char* operation, std::source_location w) {
  require(x.rank() == 4 && is_floating(x.dtype()) && x.size(2) > 0 && x.size(3) > 0, "[", operation,
          "] x is ", x.dtype(), " [", x.shape(), "] (at ", At{w},
          "); floats [N, C, H, W] with elements in each plane are wanted");
}

}  // namespace

Tensor roi_align(const TensorOperand& x_operand, const Tensor& regions,
                 const RoiAlignOptions& options) {
  const auto w = x_operand.where;
  Tensor x = graph::tensor_of(x_operand, "roi_align");
  require_images(x, "roi_align", w);
  require(regions.defined() && regions.rank() == 2 && regions.size(1) == 5 &&
              is_floating(regions.dtype()),
          "[roi_align] the regions are ",
          regions.defined() ? concat(regions.dtype(), " [", regions.shape(), "]") : "undefined",
          " (at ", At{w}, "); floats [K, 5] are wanted");
  const std::int64_t samples = options.samples, most = 1 << 12;
  require(options.size.rank() == 2 && options.size[0] >= 1 && options.size[0] <= most &&
              options.size[1] >= 1 && options.size[1] <= most,
          "[roi_align] the bins are [", options.size, "] (at ", At{w},
          "); two numbers from 1 to 4096 are wanted");
  require(samples >= 1 && samples <= 64, "[roi_align] ", samples, " samples a bin (at ", At{w},
          "); from 1 to 64 are wanted: as many as fit would depend on data");
  const std::int64_t count = regions.size(0), channels = x.size(1), height = x.size(2),
                     width = x.size(3);
  Tensor corners = regions.to(DType::f32);
  graph::require_inside(corners.select(1, 0).to(DType::i64),
                        {"roi_align", graph::IndexRange::Noun::index, 0, x.size(0), w});
  // Of an axis: where samples lie, [K, bins * samples].
  auto positions = [&](int from, int to, std::int64_t bins) {
    Tensor start = corners.select(1, from) * options.scale,
           size = corners.select(1, to) * options.scale - start;
    if (options.aligned)
      start = start - 0.5;
    else
      size = clamp_min(size, 1.0);
    Tensor step = (size / static_cast<double>(bins * samples)).unsqueeze(1);
    return start.unsqueeze(1) + step * (arange(0, bins * samples).to(DType::f32) + 0.5);
  };
  const std::int64_t rows = options.size[0] * samples, columns = options.size[1] * samples;
  Corners along_rows = held_at_edges(positions(2, 4, options.size[0]), height),
          along_columns = held_at_edges(positions(1, 3, options.size[1]), width);
  for (Corner& corner : along_rows)
    corner = {corner.place.reshape({count, 1, rows, 1}),
              corner.weight.reshape({count, 1, rows, 1})};
  for (Corner& corner : along_columns)
    corner = {corner.place.reshape({count, 1, 1, columns}),
              corner.weight.reshape({count, 1, 1, columns})};
  Tensor image = corners.select(1, 0).to(DType::i64).reshape({count, 1, 1, 1});
  Tensor planes =
      (image * channels + arange(0, channels).reshape({channels, 1, 1})) * (height * width);
  Tensor all = between(x, planes, along_rows, along_columns);
  return mean(all.reshape({count, channels, options.size[0], samples, options.size[1], samples}),
              {3, 5})
      .to(x.dtype());
}

namespace graph {

Tensor deformed_convolution(const Tensor& x, const Tensor& offset, const Tensor& weight,
                            const Tensor& bias, const Tensor& mask, const MovedWindows& moved,
                            std::source_location w) {
  require_images(x, "deform_conv2d", w);
  const auto& [windows, before, counts] = moved;
  require(offset.defined() && weight.defined() && offset.rank() == 4 && weight.rank() == 4,
          "[deform_conv2d] (at ", At{w}, ") offsets and weights of four axes are wanted");
  require(weight.dtype() == x.dtype(), "[deform_conv2d] weights of ", weight.dtype(), " for x of ",
          x.dtype(), " (at ", At{w}, "); they must have one dtype");
  const std::int64_t places = element_count(windows.kernel), batch = x.size(0),
                     channels = x.size(1), inner = weight.size(1), outputs = weight.size(0);
  const std::int64_t groups = inner > 0 ? channels / inner : 0,
                     parts = places > 0 ? offset.size(1) / (2 * places) : 0;
  require(groups >= 1 && groups * inner == channels && outputs % groups == 0,
          "[deform_conv2d] weights [", weight.shape(), "] for [", x.shape(), "] (at ", At{w},
          "); their channels must divide those of x, into as many groups as divide the outputs");
  require(parts >= 1 && channels % parts == 0 &&
              offset.shape() == (Shape{batch, 2 * parts * places, counts[0], counts[1]}),
          "[deform_conv2d] offsets [", offset.shape(), "] (at ", At{w}, "); [", batch, ", ",
          2 * places, " times a divisor of ", channels, ", ", counts[0], ", ", counts[1],
          "] are wanted");
  auto require_shape = [&](const Tensor& tensor, const char* noun, const Shape& wanted) {
    require(!tensor.defined() || tensor.shape() == wanted, "[deform_conv2d] the ", noun, " is [",
            tensor.defined() ? tensor.shape() : Shape(), "] (at ", At{w}, "); [", wanted,
            "] is wanted");
  };
  require_shape(mask, "mask", {batch, parts * places, counts[0], counts[1]});
  require_shape(bias, "bias", {outputs});
  const std::int64_t count = counts[0] * counts[1];
  Tensor moves = offset.to(DType::f32).reshape({batch, parts, 1, places, 2, count});
  // Of an axis: where each place of each window lies, [N, parts, 1, places, windows].
  auto positions = [&](int axis) {
    const std::int64_t kernel = moved.windows.kernel[axis], size = moved.counts[axis];
    Tensor of_place = arange(0, kernel) * moved.windows.dilation[axis] - moved.before[axis],
           of_window = arange(0, size) * moved.windows.stride[axis];
    Tensor both = axis == 0 ? of_place.reshape({kernel, 1, 1, 1}) + of_window.reshape({size, 1})
                            : of_place.reshape({kernel, 1, 1}) + of_window;
    Shape all = {moved.windows.kernel[0], moved.windows.kernel[1], moved.counts[0],
                 moved.counts[1]};
    return moves.select(4, axis) + both.expand(all).reshape({places, count}).to(DType::f32);
  };
  const std::int64_t plane = x.size(2) * x.size(3), own = channels / parts;
  Tensor planes = arange(0, batch * channels).reshape({batch, parts, own, 1, 1}) * plane;
  Tensor met = between(x, planes, falling_off(positions(0), x.size(2)),
                       falling_off(positions(1), x.size(3)));
  if (mask.defined()) met = met * mask.to(DType::f32).reshape({batch, parts, 1, places, count});
  Tensor y = matmul(weight.to(DType::f32).reshape({groups, outputs / groups, inner * places}),
                    met.reshape({batch, groups, inner * places, count}));
  y = y.reshape({batch, outputs, counts[0], counts[1]});
  if (bias.defined()) y = y + bias.to(DType::f32).reshape({outputs, 1, 1});
  return y.to(x.dtype());
}

}  // namespace graph

Tensor deform_conv2d(const TensorOperand& x_operand, const Tensor& offset, const Tensor& weight,
                     const Tensor& bias, const Tensor& mask, const DeformConvOptions& options) {
  const auto w = x_operand.where;
  Tensor x = graph::tensor_of(x_operand, "deform_conv2d");
  require_images(x, "deform_conv2d", w);
  const Shape &stride = options.stride, &padding = options.padding, &dilation = options.dilation;
  require(weight.defined() && weight.rank() == 4 && stride.rank() == 2 && padding.rank() == 2 &&
              dilation.rank() == 2,
          "[deform_conv2d] (at ", At{w},
          ") weights of four axes are wanted, and two values of each option");
  graph::MovedWindows moved{{{weight.size(2), weight.size(3)}, stride, dilation}, padding, {}};
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t kernel = weight.size(2 + axis);
    constexpr std::int64_t most = std::int64_t{1} << 31;
    auto is_positive = [](std::int64_t value) { return value >= 1 && value < most; };
    require(is_positive(kernel) && is_positive(stride[axis]) && is_positive(dilation[axis]) &&
                padding[axis] >= 0 && padding[axis] < most && kernel * dilation[axis] < most,
            "[deform_conv2d] a kernel of ", kernel, ", a stride of ", stride[axis],
            ", a dilation of ", dilation[axis], " and a padding of ", padding[axis], " (at ", At{w},
            "); the last one must not be negative, the others be positive, and all below 2^31");
    moved.counts.push_back(
        graph::window_count(moved.windows, axis, x.size(2 + axis) + 2 * padding[axis]));
  }
  return graph::deformed_convolution(x, offset, weight, bias, mask, moved, w);
}

}  // namespace tilewright
