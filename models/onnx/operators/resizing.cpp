// Resize: an axis at a time, each element of the result being a sum of elements with weights that
// the host computes, a matrix; or one element where the nearest is taken.
#include <algorithm>
#include <cmath>

#include "graph/functions/indexing/advanced_indexing.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t most_weights = 1 << 26;  // of one axis

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
          "\"coordinate_transformation_mode\" is none that is known");
  return (at + 0.5) / axis.scale - 0.5;
}

double nearest_of(double place, const std::string& mode) {
  if (mode == "floor") return std::floor(place);
  if (mode == "ceil") return std::ceil(place);
  if (mode == "round_prefer_ceil") return std::floor(place + 0.5);
  require(mode == "round_prefer_floor", "[onnx] the attribute \"nearest_mode\" is none that is ",
          "known");
  return std::ceil(place - 0.5);
}

// The weight of an element at this distance.
double weight_at(double distance, const Resizing& how) {
  double x = std::abs(distance), a = how.cubic_a;
  if (how.method == Method::linear) return std::max(1 - x, 0.0);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// [wanted, size]
std::vector<float> weights_of(const Axis& axis, const Resizing& how) {
  require(axis.wanted <= most_weights / std::max<std::int64_t>(axis.size, 1), "[onnx] an axis of ",
          axis.size, " is resized to ", axis.wanted);
  std::vector<float> weights(static_cast<std::size_t>(axis.wanted * axis.size));
  double squeeze = how.smooths ? std::min(axis.scale, 1.0) : 1;
  double reach = how.method == Method::linear ? 1 : 2;
  auto first = static_cast<std::int64_t>(std::floor(-reach / squeeze)) + 1;
  for (std::int64_t i = 0; i < axis.wanted; ++i) {
    double place = place_of(axis, i, how), below = std::floor(place), sum = 0;
    std::vector<double> row(static_cast<std::size_t>(axis.size));
    for (std::int64_t k = first; k <= 1 - first; ++k) {
      auto at = static_cast<std::int64_t>(below) + k;
      if (how.excludes_outside && (at < 0 || at >= axis.size)) continue;
      double weight = weight_at((static_cast<double>(k) - (place - below)) * squeeze, how);
      row[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, axis.size - 1))] += weight;
      sum += weight;
    }
    for (std::int64_t j = 0; j < axis.size; ++j)
      weights[static_cast<std::size_t>(i * axis.size + j)] =
          static_cast<float>(row[static_cast<std::size_t>(j)] / sum);
  }
  return weights;
}

Tensor resized(const Tensor& x, const Axis& axis, const Resizing& how) {
  Shape apart = {1, axis.size, 1}, whole = x.shape();
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis.axis) apart[i < axis.axis ? 0 : 2] *= x.shape()[i];
  whole[axis.axis] = axis.wanted;
  std::vector<std::uint8_t> are_outside;
  std::vector<std::int64_t> places;
  bool crops = how.coordinates == "tf_crop_and_resize", is_any_outside = false;
  for (std::int64_t i = 0; i < axis.wanted; ++i) {
    double place = place_of(axis, i, how), last = static_cast<double>(axis.size - 1);
    are_outside.push_back(crops && (place < 0 || place > last));
    is_any_outside = is_any_outside || are_outside.back() != 0;
    if (how.method == Method::nearest)
      places.push_back(
          static_cast<std::int64_t>(std::clamp(nearest_of(place, how.nearest), 0.0, last)));
  }
  Tensor result;
  if (how.method == Method::nearest) {
    std::vector<Tensor> indices(static_cast<std::size_t>(axis.axis) + 1);
    indices.back() = constant_of(places, {axis.wanted});
    result = tilewright::index(x, indices);
  } else {
    Tensor weights = constant_of(weights_of(axis, how), {axis.wanted, axis.size});
    result = matmul(weights, x.reshape(apart)).reshape(whole);
  }
  if (!is_any_outside) return result;
  Shape along(static_cast<std::size_t>(x.rank()), 1);
  along[axis.axis] = axis.wanted;
  Tensor mask = constant_of(are_outside, along) != 0;
  return where(mask, full({}, how.extrapolation).to(result.dtype()), result);
}

Method method_of(const Call& call, const std::string& mode) {
  if (mode == "nearest") return Method::nearest;
  if (mode == "linear" || mode == "bilinear") return Method::linear;
  if (mode != "cubic") call.refuse("mode", "is none of nearest, linear and cubic");
  return Method::cubic;
}

Tensor resized_all(const Tensor& x, const std::vector<Axis>& axes, const Resizing& how) {
  bool is_exact = how.method == Method::nearest;
  require(x.count() > 0, "[onnx] [", x.shape(), "] has no elements to resize");
  Tensor result = is_exact ? x : x.to(f32);
  for (const Axis& axis : axes) {
    require(axis.wanted >= 0 && axis.wanted < INT32_MAX && axis.scale > 0, "[onnx] axis ",
            axis.axis, " of [", x.shape(), "] is resized to ", axis.wanted);
    bool is_whole = how.coordinates != "tf_crop_and_resize" || (axis.start == 0 && axis.end == 1);
    if (axis.wanted != axis.size || axis.scale != 1 || !is_whole)
      result = resized(result, axis, how);
  }
  return result.to(x.dtype());
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
    auto wanted =
        scales.empty()
            ? sizes[static_cast<int>(i)]
            : static_cast<std::int64_t>(std::clamp(std::floor(size * scale), -1.0, 0x1p31));
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
          "]");
  std::vector<Axis> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    double scale = scales[static_cast<std::size_t>(axis)];
    require(scale >= 1, "[onnx] axis ", axis, " is made smaller, by ", scale,
            "; that is supported since operator set 11");
    double wanted = std::floor(static_cast<double>(x.size(axis)) * scale);
    axes.push_back({axis, x.size(axis), static_cast<std::int64_t>(std::clamp(wanted, -1.0, 0x1p31)),
                    scale, 0, 1});
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

std::span<const Operator> resizing_operators() { return rows; }

}  // namespace tilewright::onnx
