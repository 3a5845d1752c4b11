// Gradients of convolutions and of means over windows.
#include <algorithm>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/windows.h"
#include "models/exported/aten/gradients.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace window_gradient_rows {
namespace {

// A convolution of x [N, C, sizes..] by a weight, which may be the transposed one.
struct Convolved {
  int rank;
  Shape stride, padding, dilation;
  std::int64_t groups;
};

// The first windows of x, by which a transposed convolution gave it these sizes and more.
Tensor convolution_by(const Tensor& x, const Tensor& weight, const Convolved& c,
                      const Shape& sizes) {
  const ConvolutionOptions options{
      .stride = c.stride, .padding = c.padding, .dilation = c.dilation, .groups = c.groups};
  Tensor y = c.rank == 1   ? conv1d(x, weight, {}, options)
             : c.rank == 2 ? conv2d(x, weight, {}, options)
                           : conv3d(x, weight, {}, options);
  for (int axis = 2; axis < y.rank(); ++axis)
    if (y.size(axis) != sizes[axis]) y = y.slice(axis, 0, sizes[axis]);
  return y;
}

// What the convolution that gave `gradient` was given, of these sizes: elements behind its last
// windows have no part in it.
Tensor transposed_by(const Tensor& gradient, const Tensor& weight, const Convolved& c,
                     const Shape& sizes) {
  TransposedConvolutionOptions options{
      .stride = c.stride, .padding = c.padding, .dilation = c.dilation, .groups = c.groups};
  for (int i = 0; i < c.rank; ++i)
    options.output_padding.push_back(sizes[2 + i] -
                                     ((gradient.size(2 + i) - 1) * c.stride[i] - 2 * c.padding[i] +
                                      c.dilation[i] * (weight.size(2 + i) - 1) + 1));
  return c.rank == 1   ? conv_transpose1d(gradient, weight, {}, options)
         : c.rank == 2 ? conv_transpose2d(gradient, weight, {}, options)
                       : conv_transpose3d(gradient, weight, {}, options);
}

// [O, C / groups, kernel..]: what windows over x [N, C, sizes..] meet at each of their places,
// times what each window, of y [N, O, windows..], weighs.
Tensor windows_by(const Tensor& x, const Tensor& y, const Shape& kernel, const Convolved& c) {
  Shape before = c.padding, after;
  for (int i = 0; i < c.rank; ++i)
    after.push_back((y.size(2 + i) - 1) * c.stride[i] + c.dilation[i] * (kernel[i] - 1) + 1 -
                    x.size(2 + i) - before[i]);
  Tensor around = graph::padded(x, graph::pads(before, after), 0.0);
  Tensor met =
      graph::all_places(around, {kernel, c.stride, c.dilation});  // [N, C, places, windows]
  const std::int64_t batch = x.size(0), inputs = x.size(1) / c.groups,
                     outputs = y.size(1) / c.groups, places = element_count(kernel),
                     windows = met.size(-1);
  Tensor columns = met.reshape({batch, c.groups, inputs * places, windows})
                       .permute({1, 0, 3, 2})
                       .reshape({c.groups, batch * windows, inputs * places});
  Tensor weights = y.reshape({batch, c.groups, outputs, windows})
                       .permute({1, 2, 0, 3})
                       .reshape({c.groups, outputs, batch * windows});
  Shape sizes = {c.groups * outputs, inputs};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  return matmul(weights, columns).reshape(sizes);
}

Results convolution_gradients(const Call& call) {
  const Tensor gradient = call.tensor("grad_output"), x = call.tensor("input"),
               weight = call.tensor("weight");
  const int rank = weight.rank() - 2;
  if (rank < 1 || rank > 3 || x.rank() != rank + 2 || gradient.rank() != rank + 2)
    call.refuse("weight", concat("is [", weight.shape(), "], for an input [", x.shape(),
                                 "] and a gradient [", gradient.shape(),
                                 "]; one to three axes besides batch and channels are wanted"));
  const Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  const Convolved c{rank, positive(call, "stride", rank, ones_of_rank),
                    not_negative(call, "padding", rank),
                    positive(call, "dilation", rank, ones_of_rank), call.integer("groups", 1)};
  const bool is_transposed = call.flag("transposed", false);
  not_negative(call, "output_padding", rank);  // which the sizes of the gradient say
  call.has("bias_sizes");
  const Shape kernel(weight.shape().begin() + 2, weight.shape().end());
  std::vector<int> others = {0};
  for (int axis = 2; axis < gradient.rank(); ++axis) others.push_back(axis);
  return wanted_gradients(
      call, {[&] {
               return is_transposed ? convolution_by(gradient, weight, c, x.shape())
                                    : transposed_by(gradient, weight, c, x.shape());
             },
             [&] {
               return is_transposed ? windows_by(gradient, x, kernel, c)
                                    : windows_by(x, gradient, kernel, c);
             },
             [&] {
               return sum(gradient.to(accumulator(gradient.dtype())), others).to(gradient.dtype());
             }});
}

// How many elements count in each window along an axis.
Tensor counts_along(std::int64_t size, std::int64_t windows, std::int64_t kernel,
                    std::int64_t stride, std::int64_t padding, bool counts_padding) {
  Tensor first = arange(0, windows) * stride - padding,
         end = minimum(first + kernel, size + padding);
  if (counts_padding) return end - first;
  return minimum(end, size) - maximum(first, 0);
}

// Each element gets a share of every window that it is in.
Tensor means_gradient(const Call& call) {
  const Tensor gradient = call.tensor("grad_output"), x = call.tensor("self");
  const Shape kernel = positive(call, "kernel_size", 2, {}),
              stride = call.integers("stride", Shape{}).empty() ? kernel
                                                                : positive(call, "stride", 2, {}),
              padding = not_negative(call, "padding", 2);
  call.has("ceil_mode");  // which the sizes of the gradient say
  const bool counts_padding = call.flag("count_include_pad", true);
  if (x.rank() < 3 || x.rank() > 4 || gradient.rank() != x.rank())
    call.refuse("self", concat("is [", x.shape(), "], for a gradient [", gradient.shape(),
                               "]; three or four axes are wanted"));
  const DType wide = accumulator(x.dtype());
  const std::int64_t rows = gradient.size(-2), columns = gradient.size(-1),
                     planes = gradient.count() / std::max<std::int64_t>(rows * columns, 1);
  Tensor shares = gradient.to(wide).reshape({planes, 1, rows, columns});
  if (call.has("divisor_override")) {
    const std::int64_t divisor = call.integer("divisor_override");
    if (divisor == 0) call.refuse("divisor_override", "is 0");
    shares = shares / static_cast<double>(divisor);
  } else {
    auto along = [&](int i) {
      return counts_along(x.size(i - 2), gradient.size(i - 2), kernel[i], stride[i], padding[i],
                          counts_padding);
    };
    shares = shares / (along(0).unsqueeze(1) * along(1)).to(wide);
  }
  Tensor all =
      conv_transpose2d(shares, ones({1, 1, kernel[0], kernel[1]}, wide), {}, {.stride = stride});
  Shape before, after;
  for (int i = 0; i < 2; ++i) {
    before.push_back(-padding[i]);
    after.push_back(x.size(i - 2) - (all.size(i - 2) - padding[i]));
  }
  return graph::padded(all, graph::pads(before, after), 0.0).reshape(x.shape()).to(x.dtype());
}

// [parts, size]: what an element weighs in the mean of each of so many parts of an axis, which meet
// or overlap by an element.
Tensor weights_in_parts(std::int64_t size, std::int64_t parts, DType dtype) {
  Tensor part = arange(0, parts).unsqueeze(1), place = arange(0, size);
  Tensor begin = div(part * size, parts, RoundingMode::floor),
         end = div((part + 1) * size + (parts - 1), parts, RoundingMode::floor);
  return where(logical_and(place >= begin, place < end), 1.0 / (end - begin).to(dtype), 0);
}
Tensor parts_gradient(const Call& call) {
  const Tensor gradient = call.tensor("grad_output"), x = call.tensor("self");
  if (x.rank() < 3 || x.rank() > 4 || gradient.rank() != x.rank())
    call.refuse("self", concat("is [", x.shape(), "], for a gradient [", gradient.shape(),
                               "]; three or four axes are wanted"));
  const DType wide = accumulator(x.dtype());
  Tensor rows = weights_in_parts(x.size(-2), gradient.size(-2), wide),
         columns = weights_in_parts(x.size(-1), gradient.size(-1), wide);
  return matmul(matmul(rows.transpose(0, 1), gradient.to(wide)), columns).to(x.dtype());
}

constexpr Operator rows[] = {
    {"aten._adaptive_avg_pool2d_backward.default", by<parts_gradient>},
    {"aten.convolution_backward.default", by<convolution_gradients>},
    {"aten.avg_pool2d_backward.default", by<means_gradient>},
};

}  // namespace
}  // namespace window_gradient_rows

std::span<const Operator> window_gradient_operators() { return window_gradient_rows::rows; }

}  // namespace tilewright::exported
