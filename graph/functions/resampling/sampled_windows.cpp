#include "graph/functions/resampling/sampled_windows.h"

#include <algorithm>
#include <array>
#include <limits>
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

constexpr std::int64_t most_bins = 4096;  // of a region along an axis, and of samples of a bin

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

// Elements of x [.., H, W] in the planes that begin at these numbers of elements, weighted: their
// sum, or the greatest of them.
Tensor between(const Tensor& x, const Tensor& planes, const Corners& rows, const Corners& columns,
               RoiReduction reduction = RoiReduction::mean) {
  Tensor result;
  for (const Corner& row : rows)
    for (const Corner& column : columns) {
      Tensor met = take(x, planes + (row.place * x.size(-1) + column.place)).to(DType::f32);
      Tensor term = met * (row.weight * column.weight);
      result = !result.defined()                     ? term
               : reduction == RoiReduction::greatest ? maximum(result, term)
                                                     : result + term;
    }
  return result;
}

void require_images(const Tensor& x, const char* operation, std::source_location w) {
  require(x.rank() == 4 && is_floating(x.dtype()) && x.size(2) > 0 && x.size(3) > 0, "[", operation,
          "] x is ", x.dtype(), " [", x.shape(), "] (at ", At{w},
          "); floats [N, C, H, W] with elements in each plane are wanted");
}

// Regions as floats, and the number of the image of each.
struct Regions {
  Tensor corners, images;
};
Regions regions_of(const Tensor& regions, const Tensor& x, const Shape& bins, const char* operation,
                   std::source_location w) {
  require(regions.defined() && regions.rank() == 2 && regions.size(1) == 5 &&
              is_floating(regions.dtype()),
          "[", operation, "] the regions are ",
          regions.defined() ? concat(regions.dtype(), " [", regions.shape(), "]") : "undefined",
          " (at ", At{w}, "); floats [K, 5] are wanted");
  require(bins.rank() == 2 && bins[0] >= 1 && bins[0] <= most_bins && bins[1] >= 1 &&
              bins[1] <= most_bins,
          "[", operation, "] the bins are [", bins, "] (at ", At{w},
          "); two numbers from 1 to 4096 are wanted");
  Regions found{regions.to(DType::f32), {}};
  found.images = found.corners.select(1, 0).to(DType::i64);
  graph::require_inside(found.images, {operation, graph::IndexRange::Noun::index, 0, x.size(0), w});
  return found;
}
// Numbers of the elements with which planes begin, [K, C, 1, 1].
Tensor planes_of(const Regions& regions, const Tensor& x) {
  Tensor images = regions.images.reshape({regions.images.count(), 1, 1, 1});
  return (images * x.size(1) + arange(0, x.size(1)).reshape({x.size(1), 1, 1})) *
         (x.size(2) * x.size(3));
}

// Along an axis of all regions, with the same number of samples in each bin.
struct Sampled {
  Tensor at, share;  // [K, bins * samples]; what each weighs in the mean of its bin
  std::int64_t samples;
};
Sampled sampled(const Tensor& start, const Tensor& size, std::int64_t bins, std::int64_t samples) {
  Tensor step = (size / static_cast<double>(bins * samples)).unsqueeze(1);
  Tensor at = start.unsqueeze(1) + step * (arange(0, bins * samples).to(DType::f32) + 0.5);
  return {at, full({1, 1}, 1 / static_cast<double>(samples)), samples};
}
// As many samples as the region with the largest bins has; the others' last ones weigh nothing.
Sampled sampled_as_fits(const Tensor& start, const Tensor& size, std::int64_t bins,
                        std::source_location w) {
  const std::int64_t regions = size.count();
  Tensor bin = (size / static_cast<double>(bins)).reshape({regions, 1, 1}), fitting = ceil(bin);
  const double found = regions == 0 ? 0 : amax(fitting).item<float>(w);
  require(found <= static_cast<double>(most_bins), "[roi_align] a bin of ", found, " elements (at ",
          At{w}, "); at most 4096 are sampled");
  const auto samples = std::max<std::int64_t>(1, static_cast<std::int64_t>(found));
  Tensor count = clamp_min(fitting, 1.0), part = arange(0, samples).to(DType::f32),
         number = arange(0, bins).to(DType::f32).reshape({bins, 1});
  Tensor at = start.reshape({regions, 1, 1}) + bin * number + (part + 0.5) * (bin / count);
  Tensor share = where(part < fitting, 1.0 / count, 0.0).expand({regions, bins, samples});
  return {at.reshape({regions, bins * samples}), share.reshape({regions, bins * samples}), samples};
}

// Half away from 0, as C rounds.
Tensor rounded_away(const Tensor& x) { return where(x < 0.0, -floor(0.5 - x), floor(x + 0.5)); }
// True if an element belongs to a bin, [K, bins, size], of regions that begin and end here.
Tensor membership(const Tensor& start, const Tensor& end, std::int64_t bins, std::int64_t size) {
  const std::int64_t regions = start.count();
  Tensor first = start.reshape({regions, 1, 1});
  Tensor bin =
      clamp_min(end - start + 1.0, 1.0).reshape({regions, 1, 1}) / static_cast<double>(bins);
  Tensor number = arange(0, bins).to(DType::f32).reshape({bins, 1}),
         place = arange(0, size).to(DType::f32);
  return logical_and(place >= floor(number * bin) + first,
                     place < ceil((number + 1.0) * bin) + first);
}

}  // namespace

Tensor roi_align(const TensorOperand& x_operand, const Tensor& given,
                 const RoiAlignOptions& options) {
  const auto w = x_operand.where;
  Tensor x = graph::tensor_of(x_operand, "roi_align");
  require_images(x, "roi_align", w);
  const Regions regions = regions_of(given, x, options.size, "roi_align", w);
  require(options.samples >= 1 && options.samples <= 64, "[roi_align] ", options.samples,
          " samples a bin (at ", At{w}, "); from 1 to 64 are wanted, or as_many_as_fit");
  const std::int64_t count = given.size(0);
  auto along = [&](int from, int to, std::int64_t bins) {
    // In the order of torchvision's and ONNX Runtime's roundings, which decide how many samples
    // fit.
    const double offset = options.aligned ? 0.5 : 0.0;
    const Tensor start = regions.corners.select(1, from) * options.scale - offset,
                 end = regions.corners.select(1, to) * options.scale - offset,
                 size = options.aligned ? end - start : clamp_min(end - start, 1.0);
    return options.as_many_as_fit ? sampled_as_fits(start, size, bins, w)
                                  : sampled(start, size, bins, options.samples);
  };
  const Sampled rows = along(2, 4, options.size[0]), columns = along(1, 3, options.size[1]);
  const Shape down = {count, 1, rows.at.size(1), 1}, across = {count, 1, 1, columns.at.size(1)},
              bins = {count,        x.size(1),       options.size[0],
                      rows.samples, options.size[1], columns.samples};
  const bool is_mean = options.reduction == RoiReduction::mean;
  auto corners = [&](const Sampled& of, std::int64_t size, const Shape& shape) {
    Corners both = held_at_edges(of.at, size);
    for (Corner& corner : both)
      corner = {corner.place.reshape(shape),
                (is_mean ? corner.weight * of.share : corner.weight).reshape(shape)};
    return both;
  };
  const Tensor all = between(x, planes_of(regions, x), corners(rows, x.size(2), down),
                             corners(columns, x.size(3), across), options.reduction);
  if (is_mean) return sum(all.reshape(bins), {3, 5}).to(x.dtype());
  auto exist = [](const Sampled& of, const Shape& shape) {
    return (of.share > 0.0).expand(of.at.shape()).reshape(shape);
  };
  const double least = -std::numeric_limits<double>::infinity();
  const Tensor counted = where(logical_and(exist(rows, down), exist(columns, across)), all, least);
  const Tensor greatest = amax(counted.reshape(bins), {3, 5});
  return where(greatest == least, 0.0, greatest).to(x.dtype());
}

Tensor roi_pool(const TensorOperand& x_operand, const Tensor& given,
                const RoiPoolOptions& options) {
  const auto w = x_operand.where;
  Tensor x = graph::tensor_of(x_operand, "roi_pool");
  require_images(x, "roi_pool", w);
  const Regions regions = regions_of(given, x, options.size, "roi_pool", w);
  const std::int64_t count = given.size(0), channels = x.size(1), height = x.size(2),
                     width = x.size(3);
  auto corner = [&](int column) {
    return rounded_away(regions.corners.select(1, column) * options.scale);
  };
  Tensor of_rows = membership(corner(2), corner(4), options.size[0], height),
         of_columns = membership(corner(1), corner(3), options.size[1], width);
  const double least = -std::numeric_limits<double>::infinity();
  Tensor met = take(x, planes_of(regions, x).reshape({count, channels, 1, 1, 1}) +
                           arange(0, height * width).reshape({height, width}));
  Tensor rows =
      amax(where(of_rows.reshape({count, 1, options.size[0], height, 1}), met, least), {3});
  Tensor bins = amax(
      where(of_columns.reshape({count, 1, 1, options.size[1], width}), rows.unsqueeze(3), least),
      {4});
  return where(bins == least, 0.0, bins).to(x.dtype());
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
  // For an axis: where each place of each window lies, [N, parts, 1, places, windows].
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
