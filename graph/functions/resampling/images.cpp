#include "graph/functions/resampling/images.h"

#include <algorithm>
#include <cmath>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

Tensor image_operand(const TensorOperand& image, std::string_view name) {
  Tensor given = graph::tensor_of(image, name);
  require(given.rank() >= 3 && given.count() > 0, "[", name, "] the image is ", given.shape(),
          " (at ", At{image.where}, "); it must be [.., C, H, W], and not empty");
  return given;
}

// {height, width} for one size, of the shorter side.
Shape in_proportion(const Tensor& image, std::int64_t size, std::int64_t most,
                    std::source_location w) {
  const std::int64_t height = image.size(-2), width = image.size(-1);
  const std::int64_t shorter = std::min(height, width), longer = std::max(height, width);
  require(most == 0 || most > size, "[resize_image] the longer side has at most ", most,
          " elements, the shorter one ", size, " (at ", At{w}, "); it must be the smaller number");
  std::int64_t low = size, high = size * longer / shorter;
  if (most > 0 && high > most) {
    low = most * low / high;
    high = most;
  }
  return height <= width ? Shape{low, high} : Shape{high, low};
}

}  // namespace

Tensor resize_image(const TensorOperand& image, const Shape& size, const ImageOptions& options) {
  auto w = image.where;
  const Tensor given = image_operand(image, "resize_image");
  require(size.rank() == 1 || size.rank() == 2, "[resize_image] the size is ", size, " (at ", At{w},
          "); give {height, width}, or the one size of the shorter side");
  const Shape sizes = size.rank() == 2 ? size : in_proportion(given, size[0], options.most, w);
  const bool is_smooth =
      options.mode == InterpolateMode::bilinear || options.mode == InterpolateMode::bicubic;
  Tensor result = interpolate(
      {given.reshape({-1, given.size(-3), given.size(-2), given.size(-1)}, w), w},
      {.size = sizes, .mode = options.mode, .antialias = is_smooth && options.antialias});
  Shape all = given.shape();
  all[-2] = sizes[0];
  all[-1] = sizes[1];
  return result.reshape(all, w);
}

Tensor normalize_image(const TensorOperand& image, const std::vector<double>& mean,
                       const std::vector<double>& deviation) {
  auto w = image.where;
  const Tensor given = image_operand(image, "normalize_image");
  require(is_floating(given.dtype()), "[normalize_image] the image is ", given.dtype(), " (at ",
          At{w}, "); it must be floating: convert with to(f32), and divide bytes by 255");
  const std::int64_t channels = given.size(-3);
  for (const std::vector<double>* numbers : {&mean, &deviation})
    require(std::ssize(*numbers) == channels, "[normalize_image] there are ", numbers->size(),
            " numbers for ", channels, " channels (at ", At{w}, "); give one for each");
  require(std::ranges::find(deviation, 0.0) == deviation.end(),
          "[normalize_image] a deviation is 0 (at ", At{w}, "); it must be another number");
  auto of_channels = [&](const std::vector<double>& numbers) {
    if (given.dtype() == DType::f64) return graph::constant_of(numbers, {channels, 1, 1});
    return graph::constant_of(std::vector<float>(numbers.begin(), numbers.end()), {channels, 1, 1});
  };
  Tensor centred = TensorOperand(given, w) - of_channels(mean);
  Tensor result = TensorOperand(centred, w) / of_channels(deviation);
  return result.to(given.dtype(), w);
}

Letterbox letterbox(const TensorOperand& image, const Shape& size, const Number& fill,
                    const ImageOptions& options) {
  auto w = image.where;
  const Tensor given = image_operand(image, "letterbox");
  require(size.rank() == 2 && size[0] > 0 && size[1] > 0, "[letterbox] the size is ", size, " (at ",
          At{w}, "); give {height, width}");
  const auto height = static_cast<double>(given.size(-2)),
             width = static_cast<double>(given.size(-1));
  const double scale =
      std::min(static_cast<double>(size[0]) / height, static_cast<double>(size[1]) / width);
  const Shape inner = {std::max<std::int64_t>(std::llround(height * scale), 1),
                       std::max<std::int64_t>(std::llround(width * scale), 1)};
  Tensor resized = inner[0] == given.size(-2) && inner[1] == given.size(-1)
                       ? given
                       : resize_image({given, w}, inner, options);
  const std::int64_t top = (size[0] - inner[0]) / 2, left = (size[1] - inner[1]) / 2;
  Tensor framed =
      pad({resized, w}, {left, size[1] - inner[1] - left, top, size[0] - inner[0] - top},
          PadMode::constant, fill);
  return {framed, scale, left, top};
}

}  // namespace tilewright
