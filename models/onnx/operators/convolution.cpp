// Convolutions of one to three axes, their transposes, and those of integers.
#include "graph/functions/convolving/convolution.h"

#include <algorithm>

#include "graph/functions/quantisation/rescaled.h"
#include "models/onnx/operators/convolution.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "models/onnx/program/zero_points.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

int axes_of(const Tensor& weight) {
  int rank = weight.rank() - 2;
  require(rank >= 1 && rank <= 3, "[onnx] a convolution by [", weight.shape(),
          "]; one to three axes besides the channels are supported");
  return rank;
}
Shape kernel_of(const Tensor& weight) {
  return {std::vector<std::int64_t>(weight.shape().begin() + 2, weight.shape().end())};
}

Tensor convolution(const Call& call) {
  return convolved(call, call.tensor(0), call.tensor(1), call.optional_tensor(2));
}

Tensor transposed(const Tensor& x, const Tensor& weight,
                  const TransposedConvolutionOptions& options) {
  int rank = axes_of(weight);
  if (rank == 1) return conv_transpose1d(x, weight, {}, options);
  return rank == 2 ? conv_transpose2d(x, weight, {}, options)
                   : conv_transpose3d(x, weight, {}, options);
}
// All that the elements reach, of which the padding is then cut off.
Tensor transposed_convolution(const Call& call) {
  Tensor x = call.tensor(0), weight = call.tensor(1), bias = call.optional_tensor(2);
  int rank = axes_of(weight);
  require(x.rank() == rank + 2, "[onnx] [", x.shape(), "] by [", weight.shape(),
          "]; both must have as many axes");
  Shape stride = axis_values(call, "strides", rank, 1, 1),
        dilation = axis_values(call, "dilations", rank, 1, 1),
        more = axis_values(call, "output_padding", rank, 0, 0),
        pads = axis_values(call, "pads", 2 * rank, 0, 0), before, after;
  Shape kernel = kernel_of(weight);
  if (call.has("kernel_shape"))
    require(axis_values(call, "kernel_shape", rank, 1, 1) == kernel,
            "[onnx] kernel_shape is another than that of [", weight.shape(), "]; it must be [",
            kernel, "], or left out");
  std::string how = call.text("auto_pad", "NOTSET");
  bool has_shape = call.has("output_shape"), is_same = how.starts_with("SAME");
  Shape wanted = has_shape ? axis_values(call, "output_shape", rank, 1, 0) : Shape{};
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = x.size(2 + i), span = dilation[i] * (kernel[i] - 1) + 1;
    std::int64_t front = pads[i], back = pads[rank + i];
    if (has_shape || is_same) {
      std::int64_t total =
          stride[i] * (size - 1) + more[i] + span - (has_shape ? wanted[i] : size * stride[i]);
      // What is missing is added behind.
      std::int64_t cut = std::max<std::int64_t>(total, 0);
      front = how == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      back = total - front;
    }
    before.push_back(-front);
    after.push_back(more[i] - back);
  }
  Tensor all = transposed(
      x, weight, {.stride = stride, .dilation = dilation, .groups = call.integer("group", 1)});
  Tensor cut = graph::padded(all, graph::pads(before, after), 0.0);
  if (!bias.defined()) return cut;
  Shape along(static_cast<std::size_t>(rank) + 1, 1);
  along[0] = bias.count();
  return cut + bias.reshape(along);
}

Tensor convolution_of_integers(const Call& call) {
  const Tensor x = call.tensor(0), filters = call.tensor(1);
  auto zero_of = [&](std::size_t input, std::int64_t channels) {
    return known_zero(call, input, channels) ? Tensor() : call.tensor(input);
  };
  require(x.rank() == axes_of(filters) + 2, "[onnx] [", x.shape(), "] by [", filters.shape(),
          "]; both must have as many axes");
  return integer_convolution(
      x, zero_of(2, x.size(1)), filters, zero_of(3, filters.size(0)),
      [&](const Tensor& x, const Tensor& weight) { return convolved(call, x, weight, {}); });
}

constexpr Operator convolution_rows[] = {
    {"Conv", 1, by<convolution>},
    {"ConvInteger", 10, by<convolution_of_integers>},
    {"ConvTranspose", 1, by<transposed_convolution>},
};

}  // namespace

Tensor convolved(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  int rank = axes_of(weight);
  Frame frame = frame_of(call, x.shape(), kernel_of(weight));
  require(frame.windows.kernel == kernel_of(weight),
          "[onnx] kernel_shape is another than that of [", weight.shape(), "]; it must be [",
          kernel_of(weight), "], or left out");
  ConvolutionOptions options{.stride = frame.windows.stride,
                             .dilation = frame.windows.dilation,
                             .groups = call.integer("group", 1)};
  Tensor around = x;
  if (frame.before == frame.padding_after)
    options.padding = frame.before;
  else
    around = graph::padded(x, graph::pads(frame.before, frame.padding_after), 0.0);
  if (rank == 1) return conv1d(around, weight, bias, options);
  return rank == 2 ? conv2d(around, weight, bias, options) : conv3d(around, weight, bias, options);
}

std::span<const Operator> convolution_operators() { return convolution_rows; }

}  // namespace tilewright::onnx
