// Resize: an axis at a time, each element of the result being a sum of few elements with weights,
// or the nearest one. Which and by how much the host computes, of the axis alone.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/functions/indexing/advanced_indexing.h"
#include "models/files/reader.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace resizing_rows {
namespace {

constexpr std::int64_t most_taps = 1 << 28;  // of one axis

enum class Method : std::uint8_t { nearest, linear, cubic };

struct Resizing {
  Method method;
  std::string coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool excludes_outside = false, smooths = false;
};
struct Axis {
  int axis;
  std::int64_t size, wanted;
  double scale, start, end;  // the last two of the part of the axis that is taken
};

// The place in the tensor that element i of the result stands for.
double place_of(const Axis& axis, std::int64_t i, const Resizing& how) {
  auto at = static_cast<double>(i), size = static_cast<double>(axis.size),
       wanted = static_cast<double>(axis.wanted), exact = axis.scale * size;
  const std::string& mode = how.coordinates;
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners")
    return axis.wanted == 1 || exact == 1 ? 0 : at * (size - 1) / (exact - 1);
  if (mode == "pytorch_half_pixel" && axis.wanted == 1) return 0;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (mode == "half_pixel_symmetric")
    return size / 2 * (1 - wanted / exact) + (at + 0.5) / axis.scale - 0.5;
  if (mode == "tf_crop_and_resize")
    return axis.wanted > 1
               ? axis.start * (size - 1) + at * (axis.end - axis.start) * (size - 1) / (wanted - 1)
               : 0.5 * (axis.start + axis.end) * (size - 1);
  require(mode == "half_pixel" || mode == "pytorch_half_pixel", "[onnx] the attribute ",
          "\"coordinate_transformation_mode\" is \"", json::excerpt(mode),
          "\", none of half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, "
          "asymmetric, tf_half_pixel_for_nn and tf_crop_and_resize");
  return (at + 0.5) / axis.scale - 0.5;
}

double nearest_of(double place, const std::string& mode) {
  if (mode == "floor") return std::floor(place);
  if (mode == "ceil") return std::ceil(place);
  if (mode == "round_prefer_ceil") return std::floor(place + 0.5);
  require(mode == "round_prefer_floor", "[onnx] the attribute \"nearest_mode\" is \"",
          json::excerpt(mode), "\", none of round_prefer_floor, round_prefer_ceil, floor and ceil");
  return std::ceil(place - 0.5);
}

// The weight of an element at this distance.
double weight_at(double distance, const Resizing& how) {
  double x = std::abs(distance), a = how.cubic_a;
  if (how.method == Method::linear) return std::max(1 - x, 0.0);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The elements that each one of the result is made of: so many `each`, one behind the other, with
// weights that add up to 1. Places and weights are as many as the axis has elements, times those
// that the form of the interpolation reaches.
struct Taps {
  std::int64_t each = 1;
  std::vector<std::int32_t> places;
  std::vector<float> weights;  // none: 1
};

Taps nearest_taps(const Axis& axis, const Resizing& how) {
  Taps taps;
  taps.places.reserve(static_cast<std::size_t>(axis.wanted));
  const auto last = static_cast<double>(axis.size - 1);
  for (std::int64_t i = 0; i < axis.wanted; ++i)
    taps.places.push_back(static_cast<std::int32_t>(
        std::clamp(nearest_of(place_of(axis, i, how), how.nearest), 0.0, last)));
  return taps;
}

Taps weighted_taps(const Axis& axis, const Resizing& how) {
  const double squeeze = how.smooths ? std::min(axis.scale, 1.0) : 1;
  const double reach = (how.method == Method::linear ? 1 : 2) / squeeze;
  require(reach <= most_taps && axis.wanted <= most_taps / (2 * std::ceil(reach)), "[onnx] axis ",
          axis.axis, ", of ", axis.size, " elements, is resized to ", axis.wanted, ", of ",
          2 * std::ceil(reach), " weights each; at most ", most_taps, " weights are supported");
  const auto first = static_cast<std::int64_t>(std::floor(-reach)) + 1;
  Taps taps{2 - 2 * first, {}, {}};
  const auto count = static_cast<std::size_t>(axis.wanted * taps.each);
  taps.places.reserve(count);
  taps.weights.reserve(count);
  std::vector<double> row(static_cast<std::size_t>(taps.each));
  for (std::int64_t i = 0; i < axis.wanted; ++i) {
    const double place = place_of(axis, i, how), below = std::floor(place);
    double sum = 0;
    for (std::int64_t k = first; k <= 1 - first; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(below) + k;
      const bool counts = !how.excludes_outside || (at >= 0 && at < axis.size);
      double& weight = row[static_cast<std::size_t>(k - first)];
      weight = counts ? weight_at((static_cast<double>(k) - (place - below)) * squeeze, how) : 0;
      sum += weight;
      taps.places.push_back(
          static_cast<std::int32_t>(std::clamp<std::int64_t>(at, 0, axis.size - 1)));
    }
    for (double weight : row) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

// Where the elements are repeated, or one of so many is taken, as most networks do, the result is
// a view, without numbers of elements.
std::optional<Tensor> as_view(const Tensor& x, const Axis& axis, const Taps& taps) {
  const std::vector<std::int32_t>& places = taps.places;
  auto are = [&](auto place) {
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i] != place(static_cast<std::int64_t>(i))) return false;
    return true;
  };
  if (axis.wanted % axis.size == 0) {
    const std::int64_t times = axis.wanted / axis.size;
    if (!are([&](std::int64_t i) { return i / times; })) return std::nullopt;
    Shape apart = x.shape(), spread, whole = x.shape();
    apart.insert(apart.begin() + axis.axis + 1, 1);
    spread = apart;
    spread[axis.axis + 1] = times;
    whole[axis.axis] = axis.wanted;
    return x.reshape(apart).expand(spread).reshape(whole);
  }
  if (axis.size % axis.wanted != 0) return std::nullopt;
  const std::int64_t step = axis.size / axis.wanted, first = places[0];
  if (!are([&](std::int64_t i) { return first + i * step; })) return std::nullopt;
  Shape apart = x.shape();
  apart[axis.axis] = axis.wanted;
  apart.insert(apart.begin() + axis.axis + 1, step);
  return x.reshape(apart).select(axis.axis + 1, first);
}

// The parts of x at those places of its first axis, joined by the weights.
Tensor joined_rows(const Tensor& x, std::int64_t wanted, const Taps& taps) {
  auto at = [&](const Tensor& places) { return tilewright::index(x, {places}); };
  const Tensor places = constant_of(taps.places, {wanted, taps.each});
  if (taps.weights.empty()) return at(places.reshape({wanted}));
  const Tensor weights = constant_of(taps.weights, {wanted, taps.each, 1});
  constexpr std::int64_t most_terms = 8;  // that are written out
  if (taps.each > most_terms) return sum(at(places) * weights, {1});
  Tensor total;
  for (std::int64_t k = 0; k < taps.each; ++k) {
    Tensor term = at(places.select(1, k)) * weights.select(1, k);
    total = total.defined() ? total + term : term;
  }
  return total;
}

// Rows are picked as wholes by as many numbers as the axis has elements; so the axis comes to the
// front, whatever is behind it.
Tensor joined(const Tensor& x, const Axis& axis, const Taps& taps) {
  std::vector<int> order = {axis.axis}, back;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis.axis) order.push_back(i);
  for (int i = 0; i < x.rank(); ++i) back.push_back(i == axis.axis ? 0 : i < axis.axis ? i + 1 : i);
  Shape sizes = {axis.wanted};
  for (std::size_t i = 1; i < order.size(); ++i) sizes.push_back(x.size(order[i]));
  const Tensor front = x.permute(order).reshape({axis.size, x.count() / axis.size});
  return joined_rows(front, axis.wanted, taps).reshape(sizes).permute(back);
}

// True where an element of the result lies outside of x, if any does.
Tensor outside_of(const Axis& axis, const Resizing& how, int rank) {
  if (how.coordinates != "tf_crop_and_resize") return {};
  std::vector<std::uint8_t> are_outside;
  for (std::int64_t i = 0; i < axis.wanted; ++i) {
    const double place = place_of(axis, i, how);
    are_outside.push_back(place < 0 || place > static_cast<double>(axis.size - 1));
  }
  if (std::ranges::find(are_outside, 1) == are_outside.end()) return {};
  Shape along(static_cast<std::size_t>(rank), 1);
  along[axis.axis] = axis.wanted;
  return constant_of(are_outside, along) != 0;
}

Tensor resized(const Tensor& x, const Axis& axis, const Resizing& how) {
  if (axis.wanted == 0) return x.slice(axis.axis, 0, 0);
  const bool is_nearest = how.method == Method::nearest;
  const Taps taps = is_nearest ? nearest_taps(axis, how) : weighted_taps(axis, how);
  const std::optional<Tensor> view = is_nearest ? as_view(x, axis, taps) : std::nullopt;
  const Tensor result = view ? *view : joined(x, axis, taps),
               mask = outside_of(axis, how, x.rank());
  if (!mask.defined()) return result;
  return where(mask, full({}, how.extrapolation).to(result.dtype()), result);
}

Method method_of(const Call& call, const std::string& mode) {
  if (mode == "nearest") return Method::nearest;
  if (mode == "linear" || mode == "bilinear") return Method::linear;
  if (mode != "cubic") call.refuse("mode", "is none of nearest, linear and cubic");
  return Method::cubic;
}

// Which axis comes first: of those that become longer the last one, whose elements lie apart in
// memory, while there is least of them.
int turn_of(const Axis& axis, int rank) {
  if (axis.wanted < axis.size) return 0;
  return axis.axis == rank - 1 ? 1 : 2;
}

Tensor resized_all(const Tensor& x, std::vector<Axis> axes, const Resizing& how) {
  std::ranges::stable_sort(axes, {}, [&](const Axis& axis) { return turn_of(axis, x.rank()); });
  bool is_exact = how.method == Method::nearest;
  require(x.count() > 0, "[onnx] [", x.shape(),
          "] has no elements to resize; there must be at least one");
  Tensor result = is_exact ? x : x.to(f32);
  for (const Axis& axis : axes) {
    require(axis.wanted >= 0 && axis.wanted < INT32_MAX && axis.size < INT32_MAX && axis.scale > 0,
            "[onnx] axis ", axis.axis, " of [", x.shape(), "] is resized to ", axis.wanted, ", by ",
            axis.scale, "; 0 to ", INT32_MAX - 1, " elements and scales above 0 are supported");
    bool is_whole = how.coordinates != "tf_crop_and_resize" || (axis.start == 0 && axis.end == 1);
    if (axis.wanted != axis.size || axis.scale != 1 || !is_whole)
      result = resized(result, axis, how);
  }
  return result.to(x.dtype());
}

// The size of an axis by its scale, which is an f32: their product is rounded to one, as ONNX
// Runtime does, so that 0.7 of 40 are 28 and not 27.
std::int64_t scaled(std::int64_t size, double scale) {
  const double product = static_cast<float>(size) * static_cast<float>(scale);
  return static_cast<std::int64_t>(std::clamp(std::floor(product), -1.0, 0x1p31));
}

// The sizes and scales of the axes: one of both is given.
std::vector<Axis> axes_of(const Call& call, const Tensor& x) {
  std::vector<int> named = call.axes("axes");
  if (!call.has("axes"))
    for (int axis = 0; axis < x.rank(); ++axis) named.push_back(axis);
  std::vector<double> scales, part;
  Shape sizes;
  if (call.has(1)) part = call.numbers(1);
  if (call.has(2)) scales = call.numbers(2);
  if (call.has(3)) sizes = call.integers(3);
  std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  require((scales.size() == named.size()) != (sizes.size() == named.size()), "[onnx] ",
          named.size(), " axes are resized by ", scales.size(), " scales and to ", sizes.size(),
          " sizes; one of both is wanted");
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < named.size(); ++i) {
    int axis = call.within(named[i], x.rank());
    auto size = static_cast<double>(x.size(axis));
    double scale =
        scales.empty() ? static_cast<double>(sizes[static_cast<int>(i)]) / size : scales[i];
    auto wanted = scales.empty() ? sizes[static_cast<int>(i)] : scaled(x.size(axis), scale);
    bool has_part = part.size() == 2 * named.size();
    axes.push_back({axis, x.size(axis), wanted, scale, has_part ? part[i] : 0,
                    has_part ? part[i + named.size()] : 1});
  }
  if (policy == "stretch" || sizes.empty()) return axes;
  if (policy != "not_larger" && policy != "not_smaller")
    call.refuse("keep_aspect_ratio_policy", "is none of stretch, not_larger and not_smaller");
  double scale = axes[0].scale;
  for (const Axis& axis : axes)
    scale = policy == "not_larger" ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  for (Axis& axis : axes) {
    axis.scale = scale;
    axis.wanted = static_cast<std::int64_t>(
        std::clamp(std::floor(scale * static_cast<double>(axis.size) + 0.5), -1.0, 0x1p31));
  }
  return axes;
}

Tensor resize(const Call& call) {
  Tensor x = call.tensor(0);
  Resizing how{method_of(call, call.text("mode", "nearest")),
               call.text("coordinate_transformation_mode", "half_pixel"),
               call.text("nearest_mode", "round_prefer_floor"),
               call.number("cubic_coeff_a", -0.75),
               call.number("extrapolation_value", 0),
               call.flag("exclude_outside", false),
               call.flag("antialias", false)};
  return resized_all(x, axes_of(call, x), how);
}
// Upsample, and Resize before it had other coordinates.
Tensor upsample(const Call& call) {
  Tensor x = call.tensor(0);
  std::vector<double> scales = call.opset() < 9 ? call.numbers("scales") : call.numbers(1);
  require(std::ssize(scales) == x.rank(), "[onnx] ", scales.size(), " scales for [", x.shape(),
          "]; one an axis is wanted");
  std::vector<Axis> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    double scale = scales[static_cast<std::size_t>(axis)];
    require(scale >= 1, "[onnx] axis ", axis, " is made smaller, by ", scale,
            "; that is supported since operator set 11");
    axes.push_back({axis, x.size(axis), scaled(x.size(axis), scale), scale, 0, 1});
  }
  return resized_all(x, axes,
                     {method_of(call, call.text("mode", "nearest")), "asymmetric", "floor"});
}

constexpr Operator rows[] = {
    {"Resize", 10, by<upsample>},
    {"Resize", 11, by<resize>},
    {"Upsample", 7, by<upsample>},
};

}  // namespace
}  // namespace resizing_rows

std::span<const Operator> resizing_operators() { return resizing_rows::rows; }

}  // namespace tilewright::onnx
