#include "graph/functions/resampling/resize.h"

#include <algorithm>
#include <cmath>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {

using graph::At;
using graph::constant_of;

namespace {

using Resizing = ResizeOptions;
using Method = ResizeMethod;

constexpr std::int64_t most_taps = 1 << 28;  // of one axis

struct Axis {
  int axis;
  std::int64_t size, wanted;
  double scale, start, end;  // the last two of the part of the axis that is taken
};

// The place in the tensor that element i of the result stands for, rounded after each step to T.
template <typename T>
double place_of(const Axis& axis, std::int64_t i, const Resizing& how) {
  const T at = static_cast<T>(i), size = static_cast<T>(axis.size),
          wanted = static_cast<T>(axis.wanted), scale = static_cast<T>(axis.scale),
          start = static_cast<T>(axis.start), end = static_cast<T>(axis.end), half = T(0.5);
  switch (how.coordinates) {
    case ResizeCoordinates::asymmetric: return at / scale;
    case ResizeCoordinates::align_corners:
      return axis.wanted == 1 ? 0 : at * (size - 1) / (wanted - 1);
    case ResizeCoordinates::pytorch_half_pixel:
      return axis.wanted == 1 ? 0 : (at + half) / scale - half;
    case ResizeCoordinates::tf_half_pixel_for_nn: return (at + half) / scale;
    case ResizeCoordinates::half_pixel_symmetric:
      return size / 2 * (1 - wanted / (scale * size)) + (at + half) / scale - half;
    case ResizeCoordinates::tf_crop_and_resize:
      return axis.wanted > 1 ? start * (size - 1) + at * (end - start) * (size - 1) / (wanted - 1)
                             : half * (start + end) * (size - 1);
    case ResizeCoordinates::half_pixel: return (at + half) / scale - half;
  }
  __builtin_unreachable();
}

double nearest_of(double place, ResizeNearest form) {
  switch (form) {
    case ResizeNearest::floor: return std::floor(place);
    case ResizeNearest::ceil: return std::ceil(place);
    case ResizeNearest::round_prefer_ceil: return std::floor(place + 0.5);
    case ResizeNearest::round_prefer_floor: return std::ceil(place - 0.5);
  }
  __builtin_unreachable();
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

// Places are f32 here, as ONNX Runtime has them: between two elements the rounding decides.
Taps nearest_taps(const Axis& axis, const Resizing& how) {
  Taps taps;
  reserve_list(taps.places, "resize", axis.wanted);
  const auto last = static_cast<double>(axis.size - 1);
  for (std::int64_t i = 0; i < axis.wanted; ++i)
    taps.places.push_back(static_cast<std::int32_t>(
        std::clamp(nearest_of(place_of<float>(axis, i, how), how.nearest), 0.0, last)));
  return taps;
}

Taps weighted_taps(const Axis& axis, const Resizing& how) {
  const double squeeze = how.smooths ? std::min(axis.scale, 1.0) : 1;
  const double reach = (how.method == Method::linear ? 1 : 2) / squeeze;
  require(reach <= most_taps && axis.wanted <= most_taps / (2 * std::ceil(reach)), "[resize] axis ",
          axis.axis, ", of ", axis.size, " elements, is resized to ", axis.wanted, ", of ",
          2 * std::ceil(reach), " weights each; at most ", most_taps, " weights are supported");
  const auto first = static_cast<std::int64_t>(std::floor(-reach)) + 1;
  Taps taps{2 - 2 * first, {}, {}};
  reserve_list(taps.places, "resize", axis.wanted * taps.each);
  reserve_list(taps.weights, "resize", axis.wanted * taps.each);
  auto row = host_list<double>("resize", taps.each);
  for (std::int64_t i = 0; i < axis.wanted; ++i) {
    const double place = place_of<double>(axis, i, how), below = std::floor(place);
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
  if (how.coordinates != ResizeCoordinates::tf_crop_and_resize) return {};
  std::vector<std::uint8_t> are_outside;
  for (std::int64_t i = 0; i < axis.wanted; ++i) {
    const double place = place_of<double>(axis, i, how);
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

// Which axis comes first: of those that become longer the last one, whose elements lie apart in
// memory, while there is least of them.
int turn_of(const Axis& axis, int rank) {
  if (axis.wanted < axis.size) return 0;
  return axis.axis == rank - 1 ? 1 : 2;
}

// Half away from 0.
Tensor to_nearest(const Tensor& x) {
  const Tensor magnitude = floor(abs(x) + 0.5);
  return where(x < 0.0, -magnitude, magnitude);
}

Tensor resized_all(const Tensor& x, std::vector<Axis> axes, const Resizing& how) {
  std::ranges::stable_sort(axes, {}, [&](const Axis& axis) { return turn_of(axis, x.rank()); });
  bool is_exact = how.method == Method::nearest;
  require(x.count() > 0, "[resize] [", x.shape(),
          "] has no elements to resize; there must be at least one");
  Tensor result = is_exact ? x : x.to(f32);
  for (const Axis& axis : axes) {
    require(axis.wanted >= 0 && axis.wanted < INT32_MAX && axis.size < INT32_MAX && axis.scale > 0,
            "[resize] axis ", axis.axis, " of [", x.shape(), "] is resized to ", axis.wanted,
            ", by ", axis.scale, "; 0 to ", INT32_MAX - 1,
            " elements and scales above 0 are supported");
    bool is_whole = how.coordinates != ResizeCoordinates::tf_crop_and_resize ||
                    (axis.start == 0 && axis.end == 1);
    if (axis.wanted != axis.size || axis.scale != 1 || !is_whole)
      result = resized(result, axis, how);
  }
  // Integers that are interpolated linearly are cut off, as ONNX Runtime does.
  const bool is_rounded =
      !is_exact && is_integer(x.dtype()) && (how.smooths || how.method == Method::cubic);
  return (is_rounded ? to_nearest(result) : result).to(x.dtype());
}

}  // namespace

Tensor resize(const TensorOperand& operand, const std::vector<ResizedAxis>& axes,
              const ResizeOptions& options) {
  const Tensor& x = graph::tensor_of(operand, "resize");
  std::vector<Axis> all;
  for (const ResizedAxis& each : axes) {
    const int axis = graph::axis_of(each.axis, x.shape(), "resize", operand.where);
    all.push_back({axis, x.size(axis), each.size, each.scale, each.start, each.end});
  }
  return resized_all(x, all, options);
}

}  // namespace tilewright
