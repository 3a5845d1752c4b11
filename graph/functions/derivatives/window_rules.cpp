// The rules of convolutions and of maxima over windows (functions/named/rules.h), and of the op
// that a convolution becomes.
#include <algorithm>
#include <array>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/windows.h"
#include "graph/functions/derivatives/convolution.h"
#include "graph/functions/derivatives/pooling.h"
#include "graph/functions/derivatives/rule_tables.h"
#include "graph/functions/differentiating/captured_rule.h"
#include "graph/functions/named/rules.h"
#include "graph/functions/pooling/pooling.h"

namespace tilewright {

namespace {

// A convolution that has been done, a value an axis.
struct DoneConvolution {
  Shape stride, dilation, before;
  std::int64_t groups;
};

// The gradient of x: windows are put back to where they were, in the padding too, which is not
// computed where a transposed convolution can leave it out. Elements that no window meets have 0.
Tensor gradient_of_input(const Tensor& gradient, const Tensor& weight, const Shape& x,
                         const DoneConvolution& of, std::source_location w) {
  Shape padding, further, first;
  for (int i = 0; i < of.stride.rank(); ++i) {
    const std::int64_t all =
        (gradient.size(2 + i) - 1) * of.stride[i] + of.dilation[i] * (weight.size(2 + i) - 1) + 1;
    const std::int64_t more = x[2 + i] + 2 * of.before[i] - all;
    const bool is_left_out = more >= 0 && more < std::max(of.stride[i], of.dilation[i]);
    padding.push_back(is_left_out ? of.before[i] : 0);
    further.push_back(is_left_out ? more : 0);
    first.push_back(is_left_out ? 0 : of.before[i]);
  }
  const TransposedConvolutionOptions options{.stride = of.stride,
                                             .padding = padding,
                                             .output_padding = further,
                                             .dilation = of.dilation,
                                             .groups = of.groups};
  Tensor all = weight.rank() == 3   ? conv_transpose1d({gradient, w}, weight, {}, options)
               : weight.rank() == 4 ? conv_transpose2d({gradient, w}, weight, {}, options)
                                    : conv_transpose3d({gradient, w}, weight, {}, options);
  Shape behind;
  for (int i = 0; i < of.stride.rank(); ++i) {
    const std::int64_t size = all.size(2 + i), begin = std::min(first[i], size);
    const std::int64_t end = std::min(size, begin + x[2 + i]);
    all = all.slice(2 + i, begin, end, 1, w);
    behind.push_back(x[2 + i] - (end - begin));
  }
  return graph::padded(all, graph::pads(Shape(behind.size(), 0), behind), 0.0, w);
}

std::vector<Tensor> convolution_gradients(const Tensor& gradient, const Tensor& x,
                                          const Tensor& weight, const DoneConvolution& of,
                                          const std::array<bool, 3>& wanted,
                                          std::source_location w) {
  if (gradient.count() == 0 || x.count() == 0) return {};
  OperandGradients found = convolution_backward(
      gradient, x, weight,
      {.stride = of.stride, .padding = of.before, .dilation = of.dilation, .groups = of.groups},
      {.x = false, .weight = wanted[1], .bias = wanted[2]}, w);
  if (wanted[0]) found.x = gradient_of_input(gradient, weight, x.shape(), of, w);
  return {found.x, found.weight, found.bias};
}

// The gradient of a convolution's weight is made of x and of the gradient of the result.
std::vector<Tensor> weight_gradients(const graph::RuleCall& call) {
  const Tensor &x = call[0], &y = call[1], &weight = call.cotangents[0];
  const int rank = weight.rank() - 2;
  auto list = [&](int number) {
    Shape sizes;
    for (int i = 0; i < rank; ++i)
      sizes.push_back(static_cast<std::int64_t>(
          call.numbers[static_cast<std::size_t>(2 + number * (rank + 1) + i)]));
    return sizes;
  };
  const DoneConvolution of{list(0), list(2), list(1), static_cast<std::int64_t>(call.numbers[0])};
  Shape behind;
  for (int i = 0; i < rank; ++i)
    behind.push_back((y.size(2 + i) - 1) * of.stride[i] +
                     of.dilation[i] * (weight.size(2 + i) - 1) + 1 - x.size(2 + i) - of.before[i]);
  const Tensor around = graph::padded(x, graph::pads(of.before, behind), 0.0);
  const ConvolutionOptions options{
      .stride = of.stride, .dilation = of.dilation, .groups = of.groups};
  const Tensor of_y = rank == 1   ? conv1d(around, weight, {}, options)
                      : rank == 2 ? conv2d(around, weight, {}, options)
                                  : conv3d(around, weight, {}, options);
  return {gradient_of_input(y, weight, x.shape(), of, std::source_location::current()), of_y};
}

constexpr graph::Rule window_rules[] = {
    {.name = "convolution weight", .cotangents = weight_gradients}};

}  // namespace

std::span<const graph::Rule> graph::rules::of_windows() { return window_rules; }

namespace graph::named {

std::vector<Tensor> convolution_derivative(const DerivativeCall& call) {
  const Settings& s = call.settings;
  return convolution_gradients(
      call.cotangents[0], call[0], call[1],
      {s.sizes("stride"), s.sizes("dilation"), s.sizes("before"), s.integer("groups")},
      {call.wants(0), call.wants(1), call.wants(2)}, call.where);
}

std::vector<Tensor> transposed_convolution_derivative(const DerivativeCall& call) {
  const Settings& s = call.settings;
  const OperandGradients found =
      convolution_backward(call.cotangents[0], call[0], call[1],
                           {.stride = s.sizes("stride"),
                            .padding = s.sizes("padding"),
                            .dilation = s.sizes("dilation"),
                            .groups = s.integer("groups"),
                            .transposed = true},
                           {call.wants(0), call.wants(1), call.wants(2)}, call.where);
  return {found.x, found.weight, found.bias};
}

std::vector<Tensor> max_pool_derivative(const DerivativeCall& call) {
  const Settings& s = call.settings;
  const std::source_location w = call.where;
  const Tensor &x = call[0], &given = call.cotangents[0];
  if (!given.defined()) return {};
  const Shape kernel = s.sizes("kernel");
  const int rank = kernel.rank();
  Tensor places;
  if (s.flag("indices")) {
    places = call.results[1];
  } else {
    const MaxPoolOptions options{.stride = s.sizes("stride"),
                                 .padding = s.sizes("padding"),
                                 .dilation = s.sizes("dilation"),
                                 .ceil_mode = s.flag("ceil_mode")};
    places = rank == 1   ? max_pool1d_with_indices({x, w}, kernel, options).second
             : rank == 2 ? max_pool2d_with_indices({x, w}, kernel, options).second
                         : max_pool3d_with_indices({x, w}, kernel, options).second;
  }
  return {gradient_of_maxima(given, places, x.shape(), rank, w)};
}

}  // namespace graph::named

namespace graph {

Cotangents derivative(The<Op::convolution>, const Differential& d) {
  const Attributes& a = d.node.attributes;
  return captured_rule(d, [&](const RuleOperands& of) {
    return convolution_gradients(of.cotangents[0], of.operands[0], of.operands[1],
                                 {a.window_strides, a.dilations, a.before, a.groups},
                                 {d.wants(0), d.wants(1), d.wants(2)}, d.node.where);
  });
}

}  // namespace graph

}  // namespace tilewright
