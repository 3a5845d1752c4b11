#include "graph/functions/shaping/pixels.h"

#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// How many images [C, H, W] the tensor has, and the shape of as many others.
std::int64_t images(const Tensor& x) {
  return element_count(Shape(x.shape().begin(), x.shape().end() - 3));
}
Shape of_images(const Tensor& x, const Shape& image) {
  Shape sizes(x.shape().begin(), x.shape().end() - 3);
  sizes.insert(sizes.end(), image.begin(), image.end());
  return sizes;
}

}  // namespace

Tensor pixel_shuffle(const Tensor& x, std::int64_t factor, source_location w) {
  const std::int64_t r = factor;
  require(x.rank() >= 3 && r >= 1 && r <= INT32_MAX && x.size(-3) % (r * r) == 0,
          "[pixel_shuffle] the factor is ", r, ", for a tensor [", x.shape(), "] (at ", At{w},
          "); its square must divide the channels, the third axis from the end");
  const std::int64_t channels = x.size(-3) / (r * r), height = x.size(-2), width = x.size(-1);
  return x.reshape({images(x), channels, r, r, height, width}, w)
      .permute({0, 1, 4, 2, 5, 3}, w)
      .reshape(of_images(x, {channels, height * r, width * r}), w);
}
Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor, source_location w) {
  const std::int64_t r = factor;
  require(x.rank() >= 3 && r >= 1 && x.size(-2) % r == 0 && x.size(-1) % r == 0,
          "[pixel_unshuffle] the factor is ", r, ", for a tensor [", x.shape(), "] (at ", At{w},
          "); it must divide the last two axes");
  const std::int64_t channels = x.size(-3), height = x.size(-2) / r, width = x.size(-1) / r;
  return x.reshape({images(x), channels, height, r, width, r}, w)
      .permute({0, 1, 3, 5, 2, 4}, w)
      .reshape(of_images(x, {channels * r * r, height, width}), w);
}
Tensor channel_shuffle(const Tensor& x, std::int64_t groups, source_location w) {
  require(x.rank() >= 2 && groups >= 1 && x.size(1) % groups == 0, "[channel_shuffle] ", groups,
          " groups, for a tensor [", x.shape(), "] (at ", At{w},
          "); they must divide the channels, axis 1");
  Shape sizes(x.shape().begin() + 2, x.shape().end());
  sizes.insert(sizes.begin(), {x.size(0), groups, x.size(1) / groups});
  return x.reshape(sizes, w).transpose(1, 2, w).reshape(x.shape(), w);
}

}  // namespace tilewright
