#include "graph/functions/derivatives/convolution.h"

#include <optional>
#include <vector>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/indexing/numbered.h"
#include "graph/functions/pointwise/places.h"
#include "graph/ir/location.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

using Lay = ConvolutionGradientOptions;

// By which a transposed convolution gave results of these sizes, or larger ones.
Tensor convolution_by(const Tensor& x, const Tensor& weight, const Lay& o, const Shape& sizes) {
  const int rank = weight.rank() - 2;
  const ConvolutionOptions options{
      .stride = o.stride, .padding = o.padding, .dilation = o.dilation, .groups = o.groups};
  Tensor y = rank == 1   ? conv1d(x, weight, {}, options)
             : rank == 2 ? conv2d(x, weight, {}, options)
                         : conv3d(x, weight, {}, options);
  for (int axis = 2; axis < y.rank(); ++axis)
    if (y.size(axis) != sizes[axis]) y = y.slice(axis, 0, sizes[axis]);
  return y;
}

// What the convolution that gave `gradient` was given, of these sizes.
Tensor transposed_by(const Tensor& gradient, const Tensor& weight, const Lay& o,
                     const Shape& sizes) {
  const int rank = weight.rank() - 2;
  TransposedConvolutionOptions options{
      .stride = o.stride, .padding = o.padding, .dilation = o.dilation, .groups = o.groups};
  Shape added;
  for (int i = 0; i < rank; ++i)
    added.push_back(sizes[2 + i] - ((gradient.size(2 + i) - 1) * o.stride[i] - 2 * o.padding[i] +
                                    o.dilation[i] * (weight.size(2 + i) - 1) + 1));
  options.output_padding = added;
  return rank == 1   ? conv_transpose1d(gradient, weight, {}, options)
         : rank == 2 ? conv_transpose2d(gradient, weight, {}, options)
                     : conv_transpose3d(gradient, weight, {}, options);
}

// The elements of x [N, C, sizes..] that windows meet, [groups, C / groups * places, N * windows]:
// each is taken from where it lies, and is 0 in the padding.
Tensor met_by_windows(const Tensor& x, const Shape& kernel, const Shape& windows, const Lay& o,
                      source_location w) {
  const int rank = kernel.rank();
  const std::int64_t inputs = x.size(1) / o.groups;
  Shape sizes = {o.groups, inputs};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  sizes.push_back(x.size(0));
  sizes.insert(sizes.end(), windows.begin(), windows.end());
  Strides strides(sizes.size());
  std::int64_t step = 1, offset = 0;
  std::optional<graph::Formula> is_inside;
  for (int i = rank; i-- > 0; step *= x.size(2 + i)) {
    Strides along(sizes.size());
    along[2 + i] = o.dilation[i];
    along[3 + rank + i] = o.stride[i];
    strides[2 + i] = o.dilation[i] * step;
    strides[3 + rank + i] = o.stride[i] * step;
    offset -= o.padding[i] * step;
    const std::int64_t end =
        (windows[i] - 1) * o.stride[i] + o.dilation[i] * (kernel[i] - 1) + 1 - o.padding[i];
    if (o.padding[i] == 0 && end <= x.size(2 + i)) continue;
    const graph::Formula place = graph::strided_numbers(sizes, along, -o.padding[i], w),
                         meets = (place >= 0) & (place < x.size(2 + i));
    is_inside = is_inside ? *is_inside & meets : meets;
  }
  strides[0] = inputs * step;
  strides[1] = step;
  strides[2 + rank] = x.size(1) * step;
  graph::Formula numbers = graph::strided_numbers(sizes, strides, offset, w);
  if (is_inside) numbers = choice(*is_inside, numbers, 0);
  Tensor met = graph::elements_at(x, numbers.tensor(), w);
  if (is_inside) met = where({is_inside->tensor(), w}, {met, w}, 0.0);
  return met.reshape(
      {o.groups, inputs * element_count(kernel), x.size(0) * element_count(windows)});
}

Tensor joined_by_windows(const Tensor& x, const Tensor& y, const Shape& kernel, const Lay& o,
                         source_location w) {
  const std::int64_t outputs = y.size(1) / o.groups;
  const Shape windows(y.shape().begin() + 2, y.shape().end());
  const std::int64_t count = element_count(windows);
  const Tensor met = met_by_windows(x, kernel, windows, o, w);
  const Tensor weights = y.reshape({y.size(0), o.groups, outputs, count})
                             .permute({1, 2, 0, 3})
                             .reshape({o.groups, outputs, y.size(0) * count});
  Shape sizes = {o.groups * outputs, x.size(1) / o.groups};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  return matmul({weights, w}, met.transpose(1, 2)).reshape(sizes);
}

// [O, C / groups, kernel..]: what windows over x [N, C, sizes..] meet at each of their places,
// times what each window, of y [N, O, windows..], weighs. Its rule, in window_rules.cpp, takes
// gradients of x by a convolution and not to one element after the other.
Tensor windows_by(const Tensor& x, const Tensor& y, const Shape& kernel, const Lay& o,
                  source_location w) {
  std::vector<Number> settings = {o.groups};
  for (const Shape& sizes : {o.stride, o.padding, o.dilation}) graph::add_settings(settings, sizes);
  return graph::with_rule(
      "convolution weight", {x, y}, settings,
      [&](std::span<const Tensor> of) { return joined_by_windows(of[0], of[1], kernel, o, w); }, w);
}

}  // namespace

OperandGradients convolution_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight,
                                      const ConvolutionGradientOptions& o,
                                      const WantedGradients& wanted, source_location w) {
  const int rank = weight.rank() - 2;
  require(rank >= 1 && rank <= 3 && x.rank() == rank + 2 && gradient.rank() == rank + 2,
          "[convolution_backward] the weight is [", weight.shape(), "], x [", x.shape(),
          "] and the gradient [", gradient.shape(), "] (at ", At{w},
          "); one to three axes besides batch and channels are wanted");
  require(o.stride.rank() == rank && o.padding.rank() == rank && o.dilation.rank() == rank,
          "[convolution_backward] the stride is [", o.stride, "], the padding [", o.padding,
          "] and the dilation [", o.dilation, "] (at ", At{w}, "); ", rank, " values are wanted");
  const Shape kernel(weight.shape().begin() + 2, weight.shape().end());
  std::vector<int> others = {0};
  for (int axis = 2; axis < gradient.rank(); ++axis) others.push_back(axis);
  OperandGradients result;
  if (wanted.x)
    result.x = o.transposed ? convolution_by(gradient, weight, o, x.shape())
                            : transposed_by(gradient, weight, o, x.shape());
  if (wanted.weight)
    result.weight = o.transposed ? windows_by(gradient, x, kernel, o, w)
                                 : windows_by(x, gradient, kernel, o, w);
  if (wanted.bias)
    result.bias = sum(gradient.to(accumulator(gradient.dtype())), others).to(gradient.dtype());
  return result;
}

}  // namespace tilewright
