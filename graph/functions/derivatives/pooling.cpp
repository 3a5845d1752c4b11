#include "graph/functions/derivatives/pooling.h"

#include <algorithm>
#include <vector>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/windows.h"
#include "graph/functions/indexing/numbered.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/pooling/pooled_axes.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::PooledAxes;
using std::source_location;

namespace {

void require_images(const char* name, const Tensor& gradient, const Tensor& x, source_location w) {
  require(x.rank() >= 3 && x.rank() <= 4 && gradient.rank() == x.rank() && is_floating(x.dtype()),
          "[", name, "] x is ", x.dtype(), " [", x.shape(), "], the gradient [", gradient.shape(),
          "] (at ", At{w}, "); floats of three or four axes are wanted");
}

// How windows lie along an axis.
struct WindowsAlong {
  std::int64_t size, windows, kernel, stride, padding;
};
// How many elements count in each window.
Tensor counts_along(const WindowsAlong& a, bool include_pad) {
  const Tensor first = arange(0, a.windows) * a.stride - a.padding,
               end = minimum(first + a.kernel, a.size + a.padding);
  if (include_pad) return end - first;
  return minimum(end, a.size) - maximum(first, 0);
}

// [parts, size]: what an element weighs in the mean of each of so many parts of an axis, which meet
// or overlap by an element.
Tensor weights_in_parts(std::int64_t size, std::int64_t parts, DType dtype) {
  const Tensor part = arange(0, parts).unsqueeze(1), place = arange(0, size);
  const Tensor begin = div(part * size, parts, RoundingMode::floor),
               end = div((part + 1) * size + (parts - 1), parts, RoundingMode::floor);
  return where(logical_and(place >= begin, place < end), 1.0 / (end - begin).to(dtype), 0);
}

}  // namespace

Tensor avg_pool2d_backward(const Tensor& gradient, const Tensor& x, const Shape& kernel_given,
                           const AveragePoolOptions& options, source_location w) {
  constexpr const char* name = "avg_pool2d_backward";
  require_images(name, gradient, x, w);
  const Shape kernel = graph::pool_values(name, "the kernel", 2, kernel_given, 1, 1, w),
              stride = options.stride.empty()
                           ? kernel
                           : graph::pool_values(name, "the stride", 2, options.stride, 1, 1, w),
              padding = graph::pool_values(name, "the padding", 2, options.padding, 0, 0, w);
  require(options.divisor_override != 0, "[avg_pool2d_backward] the divisor is 0 (at ", At{w},
          "); another number is wanted");
  const DType wide = accumulator(x.dtype());
  const std::int64_t rows = gradient.size(-2), columns = gradient.size(-1),
                     planes = gradient.count() / std::max<std::int64_t>(rows * columns, 1);
  Tensor shares = gradient.to(wide).reshape({planes, 1, rows, columns});
  if (options.divisor_override) {
    shares = shares / static_cast<double>(*options.divisor_override);
  } else {
    auto along = [&](int i) {
      return counts_along({x.size(i - 2), gradient.size(i - 2), kernel[i], stride[i], padding[i]},
                          options.count_include_pad);
    };
    shares = shares / (along(0).unsqueeze(1) * along(1)).to(wide);
  }
  const Tensor all =
      conv_transpose2d(shares, ones({1, 1, kernel[0], kernel[1]}, wide), {}, {.stride = stride});
  Shape before, after;
  for (int i = 0; i < 2; ++i) {
    before.push_back(-padding[i]);
    after.push_back(x.size(i - 2) - (all.size(i - 2) - padding[i]));
  }
  return graph::padded(all, graph::pads(before, after), 0.0).reshape(x.shape()).to(x.dtype());
}

Tensor adaptive_avg_pool2d_backward(const Tensor& gradient, const Tensor& x, source_location w) {
  require_images("adaptive_avg_pool2d_backward", gradient, x, w);
  const DType wide = accumulator(x.dtype());
  const Tensor rows = weights_in_parts(x.size(-2), gradient.size(-2), wide),
               columns = weights_in_parts(x.size(-1), gradient.size(-1), wide);
  return matmul(matmul(rows.transpose(0, 1), gradient.to(wide)), columns).to(x.dtype());
}

Tensor gradient_of_maxima(const Tensor& gradient, const Tensor& places, const Shape& x, int rank,
                          source_location w) {
  std::int64_t planes = 1;
  for (int axis = 0; axis < x.rank() - rank; ++axis) planes *= x[axis];
  const std::int64_t all = element_count(x);
  if (all == 0 || gradient.count() == 0) return zeros(x, gradient.dtype(), w);
  const Shape rows = {planes, gradient.count() / planes};
  const Tensor each = gradient.to(accumulator(gradient.dtype()), w).reshape(rows, w);
  const Tensor sums = scatter_add({zeros({planes, all / planes}, each.dtype(), w), w}, 1,
                                  places.reshape(rows, w), each);
  return sums.to(gradient.dtype(), w).reshape(x, w);
}

Tensor max_pool2d_with_indices_backward(const TensorOperand& gradient, const Tensor& x,
                                        const Tensor& indices, const Shape& kernel,
                                        const MaxPoolOptions& options) {
  auto w = gradient.where;
  constexpr std::string_view name = "max_pool2d_with_indices_backward";
  const Tensor whole = graph::tensor_of({x, w}, name), given = graph::tensor_of(gradient, name);
  const Tensor places = graph::index_operand(indices, name, w);
  const PooledAxes axes = graph::pooled_axes(
      name, 2, whole,
      {kernel, options.stride, options.padding, options.dilation, options.ceil_mode}, w);
  const Shape sizes = graph::pooled_sizes(whole, axes.counts);
  require(given.shape() == sizes && places.shape() == sizes, "[", name, "] the gradient is ",
          given.shape(), ", the indices are ", places.shape(), " (at ", At{w}, "); both must be ",
          sizes);
  const Tensor operands[] = {given, places};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {gradient_of_maxima(t[0], t[1], whole.shape(), 2, w)};
  };
  return graph::apply_function(name, operands, axes.settings(), function, w)[0];
}

}  // namespace tilewright
