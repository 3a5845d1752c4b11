// Elements between elements, at places that tensors say, and the choice of boxes.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/windows.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/resampling/sampled_windows.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace sampling_rows {
namespace {

enum class Beyond : std::uint8_t { zeros, border, reflection };

// Mirrored at both ends until it lies between them.
Tensor mirrored(const Tensor& x, double least, double most) {
  double span = most - least;
  if (span <= 0) return full(x.shape(), least);
  auto folded_back = [&](const Tensor& distance, double here, double there, double sign) {
    Tensor times = floor(distance / span), rest = distance - times * span;
    Tensor is_even = times - floor(times / 2.0) * 2.0 == 0.0;
    return where(is_even, here + rest * sign, there - rest * sign);
  };
  Tensor below = folded_back(least - x, least, most, 1),
         above = folded_back(x - most, most, least, -1);
  return where(x < least, below, where(x > most, above, x));
}

// An element of an axis with its weight in the sum.
struct Tap {
  Tensor place, weight, counts;  // the last one only where some may not
};

std::vector<Tap> taps_of(const Tensor& grid, std::int64_t size, const std::string& mode,
                         Beyond beyond, bool aligns) {
  auto last = static_cast<double>(size - 1);
  double least = aligns ? 0 : -0.5, most = aligns ? last : last + 0.5;
  Tensor x =
      aligns ? (grid + 1.0) / 2.0 * last : ((grid + 1.0) * static_cast<double>(size) - 1.0) / 2.0;
  bool is_nearest = mode == "nearest", is_cubic = mode == "cubic" || mode == "bicubic";
  if (is_nearest) x = round(x);
  Tensor is_beyond = logical_or(x<least, x> most);
  if (beyond == Beyond::border) x = where(is_beyond, clamp(x, 0.0, last), x);
  if (beyond == Beyond::reflection) x = mirrored(x, least, most);
  Tensor below = is_nearest ? x : floor(x), part = x - below;
  auto tap = [&](double step, const Tensor& weight) {
    Tensor at = below + step, counts;
    if (beyond == Beyond::zeros) counts = logical_and(at >= 0.0, at <= last);
    if (beyond == Beyond::reflection) at = mirrored(at, least, most);
    return Tap{clamp(at, 0.0, last).to(i64), weight, counts};
  };
  if (is_nearest) return {tap(0, {})};
  if (!is_cubic) return {tap(0, 1.0 - part), tap(1, part)};
  constexpr double a = -0.75;
  auto near = [&](const Tensor& d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  auto far = [&](const Tensor& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {tap(-1, far(part + 1.0)), tap(0, near(part)), tap(1, near(1.0 - part)),
          tap(2, far(2.0 - part))};
}

Tensor sampled(const Call& call) {
  Tensor x = call.tensor(0), grid = call.tensor(1);
  std::string mode = call.text("mode", call.opset() < 20 ? "bilinear" : "linear"),
              padding = call.text("padding_mode", "zeros");
  bool aligns = call.flag("align_corners", false);
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic" &&
      mode != "bicubic")
    call.refuse("mode", "is none of nearest, linear and cubic");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    call.refuse("padding_mode", "is none of zeros, border and reflection");
  Beyond beyond = padding == "zeros"    ? Beyond::zeros
                  : padding == "border" ? Beyond::border
                                        : Beyond::reflection;
  int axes = x.rank() - 2;
  require(axes >= 1 && grid.rank() == x.rank() && grid.size(-1) == axes && x.count() > 0,
          "[onnx] [", x.shape(), "] is sampled at [", grid.shape(),
          "]; places of as many numbers as x has axes behind batch and channels are wanted");
  std::int64_t batch = x.size(0), channels = x.size(1), count = 1;
  Shape sizes = {batch, channels};
  for (int i = 1; i <= axes; ++i) {
    sizes.push_back(grid.size(i));
    count *= grid.size(i);
  }
  Tensor flat = grid.to(f32).reshape({batch, 1, count, axes});
  std::vector<Tap> all = {{zeros({}, i64), {}, {}}};
  for (int i = 0; i < axes; ++i) {
    std::vector<Tap> joined;
    std::int64_t size = x.size(2 + i);
    Tensor along = flat.select(3, axes - 1 - i).contiguous();
    for (const Tap& tap : taps_of(along, size, mode, beyond, aligns))
      for (const Tap& before : all) {
        Tap both{before.place * size + tap.place, tap.weight, tap.counts};
        if (before.weight.defined()) both.weight = before.weight * tap.weight;
        if (before.counts.defined()) both.counts = logical_and(before.counts, tap.counts);
        joined.push_back(both);
      }
    all = std::move(joined);
  }
  std::int64_t plane = x.count() / (batch * channels);
  Tensor planes = arange(0, batch * channels).reshape({batch, channels, 1}) * plane, result;
  for (const Tap& tap : all) {
    Tensor met = take(x, (planes + tap.place).contiguous());
    if (tap.weight.defined()) met = met * tap.weight;
    if (tap.counts.defined()) met = where(tap.counts, met, zeros({}, met.dtype()));
    result = result.defined() ? result + met : met;
  }
  return result.reshape(sizes).to(x.dtype());
}

// The places that an affine map gives to a regular grid.
Tensor affine_grid(const Call& call) {
  Tensor map = call.tensor(0);
  Shape sizes = call.integers(1);
  bool aligns = call.flag("align_corners", false);
  int axes = sizes.rank() - 2;
  require(axes >= 1 && map.rank() == 3 && map.size(1) == axes && map.size(2) == axes + 1,
          "[onnx] a map [", map.shape(), "] for the sizes [", sizes, "]; [Nx", axes, "x", axes + 1,
          "] is wanted, and sizes of at least three axes");
  Shape whole(sizes.begin() + 2, sizes.end());
  std::int64_t count = element_count(whole);
  std::vector<Tensor> columns;
  for (int i = axes - 1; i >= 0; --i) {
    std::vector<float> places;
    auto size = static_cast<double>(whole[i]);
    for (std::int64_t j = 0; j < whole[i]; ++j) {
      double at = static_cast<double>(j);
      double place =
          aligns ? (whole[i] > 1 ? 2 * at / (size - 1) - 1 : -1) : (2 * at + 1) / size - 1;
      places.push_back(static_cast<float>(place));
    }
    Shape along(static_cast<std::size_t>(axes), 1);
    along[i] = whole[i];
    columns.push_back(constant_of(places, along).expand(whole).reshape({count, 1}));
  }
  columns.push_back(ones({count, 1}));
  Tensor grid = matmul(cat(columns, 1).to(map.dtype()), map.transpose(1, 2));
  Shape result = {map.size(0)};
  result.insert(result.end(), whole.begin(), whole.end());
  result.push_back(axes);
  return grid.reshape(result);
}

// Columns of windows, each put back where it came from, and summed: the transpose of a convolution
// that takes windows apart.
Tensor put_together(const Call& call) {
  Tensor x = call.tensor(0);
  Shape image = call.integers(1), block = call.integers(2);
  int rank = image.rank();
  std::int64_t places = element_count(block);
  require(rank >= 1 && rank <= 3 && block.rank() == rank && x.rank() == 3 && places > 0 &&
              x.size(1) % places == 0,
          "[onnx] columns [", x.shape(), "] of blocks [", block, "] in an image [", image,
          "]; three axes are wanted, of which the second is a multiple of a block's elements");
  Shape stride = axis_values(call, "strides", rank, 1, 1),
        dilation = axis_values(call, "dilations", rank, 1, 1),
        pads = axis_values(call, "pads", 2 * rank, 0, 0);
  std::int64_t channels = x.size(1) / places;
  Shape columns = {x.size(0), x.size(1)}, kernel = {x.size(1), 1}, before, after;
  for (int i = 0; i < rank; ++i) {
    std::int64_t span = dilation[i] * (block[i] - 1) + 1,
                 size = image[i] + pads[i] + pads[rank + i];
    require(size >= span, "[onnx] blocks [", block, "] do not fit an image [", image,
            "]; it must be at least as large, with its pads");
    std::int64_t count = (size - span) / stride[i] + 1;
    columns.push_back(count);
    kernel.push_back(block[i]);
    before.push_back(-pads[i]);
    after.push_back(image[i] + pads[i] - ((count - 1) * stride[i] + span));
  }
  Tensor each = (arange(0, places).reshape({places, 1}) == arange(0, places)).to(x.dtype());
  Tensor weight =
      each.reshape({1, places, places}).expand({channels, places, places}).reshape(kernel);
  TransposedConvolutionOptions options{.stride = stride, .dilation = dilation, .groups = channels};
  Tensor parts = x.reshape(columns);
  Tensor sums = rank == 1   ? conv_transpose1d(parts, weight, {}, options)
                : rank == 2 ? conv_transpose2d(parts, weight, {}, options)
                            : conv_transpose3d(parts, weight, {}, options);
  return graph::padded(sums, graph::pads(before, after), 0.0);
}

// A convolution whose windows meet elements that offsets move.
Tensor deformed(const Call& call) {
  Tensor x = call.tensor(0), weight = call.tensor(1), offset = call.tensor(2),
         bias = call.optional_tensor(3), mask = call.optional_tensor(4);
  require(x.rank() == 4 && weight.rank() == 4 && x.count() > 0, "[onnx] [", x.shape(), "] by [",
          weight.shape(), "]; two axes besides the channels are supported");
  Frame frame = frame_of(call, x.shape(), {weight.size(2), weight.size(3)});
  std::int64_t groups = call.integer("group", 1), parts = call.integer("offset_group", 1);
  require(groups > 0 && groups * weight.size(1) == x.size(1) && parts > 0 && offset.rank() == 4 &&
              offset.size(1) == parts * 2 * weight.size(2) * weight.size(3),
          "[onnx] [", x.shape(), "] by [", weight.shape(), "] with offsets [", offset.shape(),
          "] in ", groups, " and ", parts,
          " groups; the weight's axis 1 times the groups must be the channels, and axis 1 of the "
          "offsets two for each place of a window and group");
  return graph::deformed_convolution(x, offset, weight, bias, mask,
                                     {frame.windows, frame.before, frame.counts});
}

// A box by its corners.
struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};
Box box_of(const std::vector<double>& numbers, std::size_t at, bool has_centre) {
  const double* n = &numbers[at * 4];
  if (has_centre) return {n[1] - n[3] / 2, n[0] - n[2] / 2, n[1] + n[3] / 2, n[0] + n[2] / 2};
  return {std::min(n[0], n[2]), std::min(n[1], n[3]), std::max(n[0], n[2]), std::max(n[1], n[3])};
}
// The part that two boxes share, of both.
double overlap(const Box& a, const Box& b) {
  double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
         width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  double shared = height * width;
  return shared / (a.area() + b.area() - shared);
}
// The best boxes of each class, without those that overlap a better one, read on the host.
Tensor best_boxes(const Call& call) {
  const Shape &boxes = call.shape(0), &scores = call.shape(1);
  require(boxes.rank() == 3 && scores.rank() == 3 && boxes[2] == 4 && boxes[0] == scores[0] &&
              boxes[1] == scores[2],
          "[onnx] boxes [", boxes, "] with scores [", scores,
          "]; boxes [batch, boxes, 4] and scores [batch, classes, boxes] are wanted");
  std::vector<double> corners = call.numbers(0), points = call.numbers(1);
  std::int64_t most = call.has(2) ? call.scalar(2).as_integer() : 0;
  double most_overlap = call.has(3) ? call.scalar(3).as_double() : 0;
  bool has_least = call.has(4), has_centre = call.integer("center_point_box", 0) != 0;
  double least = has_least ? call.scalar(4).as_double() : 0;
  std::vector<std::int64_t> found;
  auto count = static_cast<std::size_t>(boxes[1]);
  for (std::int64_t b = 0; b < scores[0]; ++b)
    for (std::int64_t c = 0; c < scores[1]; ++c) {
      const double* score = points.data() + static_cast<std::size_t>(b * scores[1] + c) * count;
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < count; ++i)
        if (!has_least || score[i] > least) order.push_back(i);
      std::ranges::stable_sort(order, [&](auto x, auto y) { return score[x] > score[y]; });
      std::vector<Box> chosen;
      for (std::size_t i : order) {
        if (std::ssize(chosen) >= most) break;
        Box box = box_of(corners, static_cast<std::size_t>(b) * count + i, has_centre);
        bool is_covered = std::ranges::any_of(
            chosen, [&](const Box& other) { return overlap(box, other) > most_overlap; });
        if (is_covered) continue;
        chosen.push_back(box);
        found.insert(found.end(), {b, c, static_cast<std::int64_t>(i)});
      }
    }
  return constant_of(found, {std::ssize(found) / 3, 3});
}

// Where samples of regions lie: numbers of elements in a plane, four to a sample, with weights.
struct Samples {
  std::vector<std::int64_t> numbers;
  std::vector<float> weights;
  std::vector<float> counts;  // of samples of a bin, by region
  std::int64_t bins, most;    // of a region; samples of a bin, those that are not there weigh 0

  void add(double row, double column, std::int64_t height, std::int64_t width) {
    auto corner = [&](double at, std::int64_t size) {
      double inside = std::max(at, 0.0);
      auto low = std::min(static_cast<std::int64_t>(inside), size - 1);
      double part = low == size - 1 ? 0 : inside - static_cast<double>(low);
      return std::tuple(low, std::min(low + 1, size - 1), part);
    };
    auto [top, bottom, down] = corner(row, height);
    auto [left, right, across] = corner(column, width);
    bool is_beyond = row < -1 || row > static_cast<double>(height) || column < -1 ||
                     column > static_cast<double>(width);
    double whole = is_beyond ? 0 : 1;
    numbers.insert(numbers.end(), {top * width + left, top * width + right, bottom * width + left,
                                   bottom * width + right});
    for (double weight :
         {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across})
      weights.push_back(static_cast<float>(whole * weight));
  }
  void add_none() {
    numbers.insert(numbers.end(), 4, 0);
    weights.insert(weights.end(), 4, 0);
  }
};

struct Regions {
  std::int64_t height, width, samples;  // of the bins, and of each along an axis; 0: as many as fit
  double scale;
  bool has_half_pixels;
};
Samples samples_of(const std::vector<double>& corners, const Regions& how, std::int64_t height,
                   std::int64_t width) {
  struct Region {
    double top, left, bin_height, bin_width;
    std::int64_t down, across;  // samples of a bin
  };
  std::vector<Region> regions;
  Samples samples{{}, {}, {}, how.height * how.width, 1};
  double shift = how.has_half_pixels ? 0.5 : 0, least = how.has_half_pixels ? 0 : 1;
  for (std::size_t i = 0; i + 4 <= corners.size(); i += 4) {
    double left = corners[i] * how.scale - shift, top = corners[i + 1] * how.scale - shift;
    double wide = corners[i + 2] * how.scale - shift - left,
           high = corners[i + 3] * how.scale - shift - top;
    if (!how.has_half_pixels) wide = std::max(wide, least), high = std::max(high, least);
    double bin_height = high / static_cast<double>(how.height),
           bin_width = wide / static_cast<double>(how.width);
    auto fitting = [&](double size) {
      if (how.samples > 0) return how.samples;
      require(size < 4096, "[onnx] a bin of ", size,
              " elements is too large; fewer than 4096 are supported");
      return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(size)), 1);
    };
    regions.push_back({top, left, bin_height, bin_width, fitting(bin_height), fitting(bin_width)});
    samples.most = std::max(samples.most, regions.back().down * regions.back().across);
  }
  require(samples.bins <= (1 << 24) / samples.most / std::max<std::int64_t>(std::ssize(regions), 1),
          "[onnx] ", regions.size(), " regions of ", samples.bins, " bins with ", samples.most,
          " samples are too many; 2^24 in all are supported");
  for (const Region& r : regions) {
    samples.counts.push_back(static_cast<float>(r.down * r.across));
    for (std::int64_t bin = 0; bin < samples.bins; ++bin)
      for (std::int64_t i = 0; i < samples.most; ++i) {
        if (i >= r.down * r.across) {
          samples.add_none();
          continue;
        }
        auto place = [](double start, double size, std::int64_t at, std::int64_t part,
                        std::int64_t parts) {
          return start + size * (static_cast<double>(at) +
                                 (static_cast<double>(part) + 0.5) / static_cast<double>(parts));
        };
        samples.add(place(r.top, r.bin_height, bin / how.width, i / r.across, r.down),
                    place(r.left, r.bin_width, bin % how.width, i % r.across, r.across), height,
                    width);
      }
  }
  return samples;
}

// The regions' corners are read on the host where they decide how many samples a bin has, or of
// which a maximum is taken. A maximum is of weighted elements, as the package has
// it.
Tensor aligned_regions(const Call& call) {
  Tensor x = call.tensor(0), batch = call.tensor(2).to(i64);
  std::string mode = call.text("mode", "avg"),
              coordinates = call.text("coordinate_transformation_mode",
                                      call.opset() < 16 ? "output_half_pixel" : "half_pixel");
  Regions how{call.integer("output_height", 1), call.integer("output_width", 1),
              call.integer("sampling_ratio", 0), call.number("spatial_scale", 1),
              coordinates == "half_pixel"};
  if (mode != "avg" && mode != "max") call.refuse("mode", "is neither avg nor max");
  require(x.rank() == 4 && x.count() > 0 && call.rank(1) == 2 && call.shape(1)[1] == 4 &&
              batch.rank() == 1 && batch.size(0) == call.shape(1)[0],
          "[onnx] regions [", call.shape(1), "] of [", x.shape(),
          "]; [regions, 4] with a number of an image each, and images of four axes, are wanted");
  require(how.height > 0 && how.height <= 4096 && how.width > 0 && how.width <= 4096 &&
              how.samples >= 0 && how.samples <= 64,
          "[onnx] regions of ", how.height, " by ", how.width, " bins with ", how.samples,
          " samples an axis; 1 to 4096 bins and 0 to 64 samples are supported");
  std::int64_t channels = x.size(1), plane = x.size(2) * x.size(3), count = batch.size(0);
  if (mode == "avg" && how.samples > 0) {
    const Tensor regions = cat({batch.unsqueeze(1).to(f32), call.tensor(1).to(f32)}, 1);
    return roi_align(
        x, regions, {{how.height, how.width}, how.scale, how.samples, coordinates == "half_pixel"});
  }
  Samples samples = samples_of(call.numbers(1), how, x.size(2), x.size(3));
  std::int64_t all = samples.bins * samples.most * 4;
  Tensor planes =
      (batch.reshape({count, 1, 1}) * channels + arange(0, channels).reshape({channels, 1})) *
      plane;
  Tensor met = take(x, (planes + constant_of(samples.numbers, {count, 1, all})).contiguous());
  met = met.to(f32) * constant_of(samples.weights, {count, 1, all});
  Tensor bins = met.reshape({count, channels, samples.bins, samples.most * 4});
  Tensor result =
      mode == "max" ? amax(bins, {3}) : sum(bins, {3}) / constant_of(samples.counts, {count, 1, 1});
  return result.reshape({count, channels, how.height, how.width}).to(x.dtype());
}

constexpr Operator rows[] = {
    {"AffineGrid", 20, by<affine_grid>},
    {"Col2Im", 18, by<put_together>},
    {"DeformConv", 19, by<deformed>},
    {"GridSample", 16, by<sampled>},
    {"com.microsoft.GridSample", 1, by<sampled>},
    {"NonMaxSuppression", 10, by<best_boxes>},
    {"RoiAlign", 10, by<aligned_regions>},
};

}  // namespace
}  // namespace sampling_rows

std::span<const Operator> sampling_operators() { return sampling_rows::rows; }

}  // namespace tilewright::onnx
