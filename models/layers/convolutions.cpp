#include "models/layers/convolutions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "graph/functions/convolving/convolution.h"
#include "graph/ir/location.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using std::source_location;

constexpr std::array<std::string_view, 3> names = {"conv1d", "conv2d", "conv3d"};
constexpr std::array<std::string_view, 3> transposed_names = {
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};

std::string_view name_of(int axes) { return names[static_cast<std::size_t>(axes - 1)]; }
std::string_view transposed_name_of(int axes) {
  return transposed_names[static_cast<std::size_t>(axes - 1)];
}

struct Channels {
  std::int64_t in, out, groups;
};

// The kernel's size along each axis.
Shape checked_kernel(std::string_view name, int axes, const Channels& c, const Shape& kernel,
                     source_location w) {
  require(c.in > 0 && c.out > 0 && c.groups > 0 && c.in % c.groups == 0 && c.out % c.groups == 0,
          "[", name, "] ", c.in, " channels to ", c.out, " in ", c.groups, " groups (at ",
          describe(w), "); all are above 0, and the groups divide both");
  require(kernel.rank() == 1 || kernel.rank() == axes, "[", name, "] the kernel has ",
          kernel.rank(), " sizes (at ", describe(w), "); there must be one, or ", axes);
  for (std::int64_t size : kernel)
    require(size > 0, "[", name, "] a size of the kernel is ", size, " (at ", describe(w),
            "); it must be above 0");
  return kernel.rank() == axes ? kernel : Shape(static_cast<std::size_t>(axes), kernel[0]);
}

Shape with_kernel(std::int64_t first, std::int64_t second, const Shape& kernel) {
  Shape sizes = {first, second};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  return sizes;
}

void fill(Tensor& weight, Tensor& bias, std::int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  fill_uniform(weight, -bound, bound, next_random_stream());
  if (bias.defined()) fill_uniform(bias, -bound, bound, next_random_stream());
}

void require_input(std::string_view name, const std::string& path, int axes, const Tensor& x,
                   std::int64_t channels, source_location w) {
  const bool fits = x.defined() && (x.rank() == axes + 1 || x.rank() == axes + 2) &&
                    x.size(-axes - 1) == channels;
  require(fits, "[", name, "] ", path, path.empty() ? "" : ": ", "the input is ",
          x.defined() ? to_string(x.shape()) : std::string("an undefined tensor"), " (at ",
          graph::At{w}, "); it must be [N, ", channels, ", ", axes == 1 ? "size" : "sizes..",
          "], or without N");
}

}  // namespace

Convolution::Convolution(int axes, std::int64_t in, std::int64_t out, const Sizes& kernel,
                         const ConvolutionLayerOptions& options, source_location w)
    : axes_(axes), options_(options) {
  const Shape sizes = checked_kernel(name_of(axes), axes, {in, out, options.groups}, kernel, w);
  const LayerOptions& layer = options.layer;
  weight = Tensor::empty(with_kernel(out, in / options.groups, sizes), layer.dtype, layer.device);
  register_parameter("weight", weight);
  if (options.bias) {
    bias = Tensor::empty({out}, layer.dtype, layer.device);
    register_parameter("bias", bias);
  }
  if (layer.init == Init::random) fill(weight, bias, weight.count() / out);
}

// Before and after each axis, the last first, as `pad` takes them.
Shape Convolution::pads() const {
  auto along = [](const Shape& given, int axis, std::int64_t otherwise) {
    return given.empty() ? otherwise : given[std::min(axis, given.rank() - 1)];
  };
  Shape all;
  for (int i = axes_ - 1; i >= 0; --i) {
    const std::int64_t around = along(options_.padding, i, 0),
                       both = along(options_.dilation, i, 1) * (weight.size(2 + i) - 1);
    if (options_.keeps_sizes)
      all.insert(all.end(), {both / 2, both - both / 2});
    else
      all.insert(all.end(), {around, around});
  }
  return all;
}

Tensor Convolution::forward(const Tensor& x, source_location w) const {
  require_input(name_of(axes_), path(), axes_, x, weight.size(1) * options_.groups, w);
  ConvolutionOptions options{.stride = options_.stride,
                             .padding = options_.padding,
                             .dilation = options_.dilation,
                             .keeps_sizes = options_.keeps_sizes,
                             .groups = options_.groups};
  Tensor around = x;
  if (options_.padding_mode != PadMode::constant) {
    around = pad({x, w}, pads(), options_.padding_mode);
    options.padding = {};
    options.keeps_sizes = false;
  }
  const TensorOperand operand(around, w);
  if (axes_ == 1) return conv1d(operand, weight, bias, options);
  return axes_ == 2 ? conv2d(operand, weight, bias, options)
                    : conv3d(operand, weight, bias, options);
}

TransposedConvolution::TransposedConvolution(int axes, std::int64_t in, std::int64_t out,
                                             const Sizes& kernel,
                                             const TransposedConvolutionLayerOptions& options,
                                             source_location w)
    : axes_(axes), options_(options) {
  const Shape sizes =
      checked_kernel(transposed_name_of(axes), axes, {in, out, options.groups}, kernel, w);
  const LayerOptions& layer = options.layer;
  weight = Tensor::empty(with_kernel(in, out / options.groups, sizes), layer.dtype, layer.device);
  register_parameter("weight", weight);
  if (options.bias) {
    bias = Tensor::empty({out}, layer.dtype, layer.device);
    register_parameter("bias", bias);
  }
  if (layer.init == Init::random) fill(weight, bias, weight.count() / in);
}

Tensor TransposedConvolution::forward(const Tensor& x, source_location w) const {
  require_input(transposed_name_of(axes_), path(), axes_, x, weight.size(0), w);
  const TransposedConvolutionOptions options{.stride = options_.stride,
                                             .padding = options_.padding,
                                             .output_padding = options_.output_padding,
                                             .dilation = options_.dilation,
                                             .groups = options_.groups};
  const TensorOperand operand(x, w);
  if (axes_ == 1) return conv_transpose1d(operand, weight, bias, options);
  return axes_ == 2 ? conv_transpose2d(operand, weight, bias, options)
                    : conv_transpose3d(operand, weight, bias, options);
}

}  // namespace tilewright
