#include "graph/functions/derivatives/convolution.h"

#include <vector>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/windows.h"
#include "graph/ir/location.h"
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

// [O, C / groups, kernel..]: what windows over x [N, C, sizes..] meet at each of their places,
// times what each window, of y [N, O, windows..], weighs.
Tensor windows_by(const Tensor& x, const Tensor& y, const Shape& kernel, const Lay& o) {
  Shape after;
  for (int i = 0; i < kernel.rank(); ++i)
    after.push_back((y.size(2 + i) - 1) * o.stride[i] + o.dilation[i] * (kernel[i] - 1) + 1 -
                    x.size(2 + i) - o.padding[i]);
  const Tensor around = graph::padded(x, graph::pads(o.padding, after), 0.0);
  const Tensor met =
      graph::all_places(around, {kernel, o.stride, o.dilation});  // [N, C, places, windows]
  const std::int64_t batch = x.size(0), inputs = x.size(1) / o.groups,
                     outputs = y.size(1) / o.groups, places = element_count(kernel),
                     windows = met.size(-1);
  const Tensor columns = met.reshape({batch, o.groups, inputs * places, windows})
                             .permute({1, 0, 3, 2})
                             .reshape({o.groups, batch * windows, inputs * places});
  const Tensor weights = y.reshape({batch, o.groups, outputs, windows})
                             .permute({1, 2, 0, 3})
                             .reshape({o.groups, outputs, batch * windows});
  Shape sizes = {o.groups * outputs, inputs};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  return matmul(weights, columns).reshape(sizes);
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
    result.weight =
        o.transposed ? windows_by(gradient, x, kernel, o) : windows_by(x, gradient, kernel, o);
  if (wanted.bias)
    result.bias = sum(gradient.to(accumulator(gradient.dtype())), others).to(gradient.dtype());
  return result;
}

}  // namespace tilewright
