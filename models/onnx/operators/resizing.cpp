// Resize and Upsample (graph/functions/resampling/resize.h): which axes become how long.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "graph/functions/resampling/resize.h"
#include "models/files/reader.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace resizing_rows {
namespace {

template <typename Choice>
using Names = std::initializer_list<std::pair<std::string_view, Choice>>;
// What a word of an attribute names.
template <typename Choice>
Choice named(std::string_view attribute, const std::string& word, Names<Choice> names) {
  std::string all;
  for (const auto& [name, choice] : names) {
    if (name == word) return choice;
    all += concat(all.empty() ? "" : &name == &(names.end() - 1)->first ? " and " : ", ", name);
  }
  raise_error(concat("[onnx] the attribute \"", attribute, "\" is \"", json::excerpt(word),
                     "\", none of ", all));
}
ResizeCoordinates coordinates_of(const std::string& word) {
  using enum ResizeCoordinates;
  return named<ResizeCoordinates>("coordinate_transformation_mode", word,
                                  {{"half_pixel", half_pixel},
                                   {"half_pixel_symmetric", half_pixel_symmetric},
                                   {"pytorch_half_pixel", pytorch_half_pixel},
                                   {"align_corners", align_corners},
                                   {"asymmetric", asymmetric},
                                   {"tf_half_pixel_for_nn", tf_half_pixel_for_nn},
                                   {"tf_crop_and_resize", tf_crop_and_resize}});
}
ResizeNearest nearest_of(const std::string& word) {
  using enum ResizeNearest;
  return named<ResizeNearest>("nearest_mode", word,
                              {{"round_prefer_floor", round_prefer_floor},
                               {"round_prefer_ceil", round_prefer_ceil},
                               {"floor", floor},
                               {"ceil", ceil}});
}
ResizeMethod method_of(const Call& call) {
  const std::string mode = call.text("mode", "nearest");
  if (mode == "nearest") return ResizeMethod::nearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMethod::linear;
  if (mode != "cubic") call.refuse("mode", "is none of nearest, linear and cubic");
  return ResizeMethod::cubic;
}

// The size of an axis by its scale, which is an f32: their product is rounded to one, as ONNX
// Runtime does, so that 0.7 of 40 are 28 and not 27.
std::int64_t scaled(std::int64_t size, double scale) {
  const double product = static_cast<float>(size) * static_cast<float>(scale);
  return static_cast<std::int64_t>(std::clamp(std::floor(product), -1.0, 0x1p31));
}

// The sizes and scales of the axes: one of both is given.
std::vector<ResizedAxis> axes_of(const Call& call, const Tensor& x) {
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
  std::vector<ResizedAxis> axes;
  for (std::size_t i = 0; i < named.size(); ++i) {
    int axis = call.within(named[i], x.rank());
    auto size = static_cast<double>(x.size(axis));
    double scale =
        scales.empty() ? static_cast<double>(sizes[static_cast<int>(i)]) / size : scales[i];
    auto wanted = scales.empty() ? sizes[static_cast<int>(i)] : scaled(x.size(axis), scale);
    bool has_part = part.size() == 2 * named.size();
    axes.push_back(
        {axis, wanted, scale, has_part ? part[i] : 0, has_part ? part[i + named.size()] : 1});
  }
  if (policy == "stretch" || sizes.empty()) return axes;
  if (policy != "not_larger" && policy != "not_smaller")
    call.refuse("keep_aspect_ratio_policy", "is none of stretch, not_larger and not_smaller");
  double scale = axes[0].scale;
  for (const ResizedAxis& axis : axes)
    scale = policy == "not_larger" ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  for (ResizedAxis& axis : axes) {
    axis.scale = scale;
    axis.size = static_cast<std::int64_t>(
        std::clamp(std::floor(scale * static_cast<double>(x.size(axis.axis)) + 0.5), -1.0, 0x1p31));
  }
  return axes;
}

Tensor resized(const Call& call) {
  const Tensor x = call.tensor(0);
  return resize(
      x, axes_of(call, x),
      {.method = method_of(call),
       .coordinates = coordinates_of(call.text("coordinate_transformation_mode", "half_pixel")),
       .nearest = nearest_of(call.text("nearest_mode", "round_prefer_floor")),
       .cubic_a = call.number("cubic_coeff_a", -0.75),
       .extrapolation = call.number("extrapolation_value", 0),
       .excludes_outside = call.flag("exclude_outside", false),
       .smooths = call.flag("antialias", false)});
}
// Upsample, and Resize before it had other coordinates.
Tensor upsample(const Call& call) {
  Tensor x = call.tensor(0);
  std::vector<double> scales = call.opset() < 9 ? call.numbers("scales") : call.numbers(1);
  require(std::ssize(scales) == x.rank(), "[onnx] ", scales.size(), " scales for [", x.shape(),
          "]; one an axis is wanted");
  std::vector<ResizedAxis> axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    double scale = scales[static_cast<std::size_t>(axis)];
    require(scale >= 1, "[onnx] axis ", axis, " is made smaller, by ", scale,
            "; that is supported since operator set 11");
    axes.push_back({axis, scaled(x.size(axis), scale), scale});
  }
  return resize(x, axes,
                {.method = method_of(call),
                 .coordinates = ResizeCoordinates::asymmetric,
                 .nearest = ResizeNearest::floor});
}

constexpr Operator rows[] = {
    {"Resize", 10, by<upsample>},
    {"Resize", 11, by<resized>},
    {"Upsample", 7, by<upsample>},
};

}  // namespace
}  // namespace resizing_rows

std::span<const Operator> resizing_operators() { return resizing_rows::rows; }

}  // namespace tilewright::onnx
