#include "graph/functions/convolving/convolution.h"

#include <algorithm>
#include <string_view>

#include "graph/functions/convolving/channels_last.h"
#include "graph/functions/convolving/transposed_parts.h"
#include "graph/functions/convolving/windows.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/named/rules.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::ChannelsLastSite;
using graph::FunctionCall;
using graph::NamedFunction;
using graph::Windows;
using std::source_location;

namespace {

// What is convolved and how, with a value an axis and a batch.
struct ConvolutionArguments {
  std::string_view name;
  source_location where;
  Tensor x, weight;
  Windows windows;
  Shape before, after;  // what is added around x
  std::int64_t groups;
  bool is_for_gpu = false;

  int rank() const { return windows.rank(); }
  DType dtype() const { return x.dtype(); }
  // That sums are made in.
  DType sums() const { return is_floating(dtype()) ? accumulator(dtype()) : dtype(); }
};

Tensor sum_of(const Tensor& a, const Tensor& b, source_location w) {
  return TensorOperand(a, w) + TensorOperand(b, w);
}
Tensor product_of(const Tensor& a, const Tensor& b, source_location w) {
  return TensorOperand(a, w) * TensorOperand(b, w);
}

// A value an axis, at least `least`.
Shape of_axes(const ConvolutionArguments& site, std::string_view what, const Shape& given,
              std::int64_t least) {
  Shape values = given.empty() ? Shape{least} : given;
  if (values.rank() == 1) values = Shape(static_cast<std::size_t>(site.rank()), values[0]);
  require(values.rank() == site.rank(), "[", site.name, "] there are ", given.rank(), " values of ",
          what, " (at ", At{site.where}, "); there must be one, or ", site.rank());
  for (std::int64_t value : values)
    require(value >= least && value <= INT32_MAX, "[", site.name, "] a value of ", what, " is ",
            value, " (at ", At{site.where}, "); it must be in [", least, ", ", INT32_MAX, "]");
  return values;
}

void require_channels(const ConvolutionArguments& site, std::int64_t channels, std::int64_t outputs,
                      const Tensor& bias) {
  auto w = site.where;
  const Shape &x = site.x.shape(), &weight = site.weight.shape();
  require(site.groups >= 1 && weight[0] % site.groups == 0, "[", site.name, "] groups is ",
          site.groups, " for the weight ", weight, " (at ", At{w}, "); it must divide ", weight[0]);
  require(x[1] == channels, "[", site.name, "] x is ", x, ", the weight is ", weight, " in ",
          site.groups, " groups (at ", At{w}, "); the channels do not agree: x must have ",
          channels);
  require(element_count(site.windows.kernel) > 0, "[", site.name, "] the weight is ", weight,
          " (at ", At{w}, "); its windows must have a place");
  require(site.weight.dtype() == site.dtype() &&
              (!bias.defined() || bias.dtype() == site.dtype()) && !is_boolean(site.dtype()) &&
              !is_float8(site.dtype()),
          "[", site.name, "] x is ", site.dtype(), ", the weight is ", site.weight.dtype(),
          bias.defined() ? concat(", the bias is ", bias.dtype()) : "", " (at ", At{w},
          "); they must have one dtype, of numbers of 16 bits or more, or integers");
  require(!bias.defined() || bias.shape() == Shape{outputs}, "[", site.name, "] the bias is ",
          bias.defined() ? bias.shape() : Shape{}, " (at ", At{w}, "); it must have ", outputs,
          " elements");
}

// The operands, of as many axes as the function's name says. As operands they are views in a graph
// that is captured, so that their memory is one input of it.
ConvolutionArguments site_of(std::string_view name, const TensorOperand& x, const Tensor& weight,
                             int rank, std::int64_t groups) {
  auto w = x.where;
  const Tensor& given = graph::tensor_of(x, name);
  graph::tensor_of({weight, w}, name);
  require(weight.rank() == rank + 2 && (given.rank() == rank + 2 || given.rank() == rank + 1), "[",
          name, "] x is ", given.shape(), ", the weight is ", weight.shape(), " (at ", At{w},
          "); equal ranks are wanted, ", rank + 2, ", or one less of x");
  Shape sizes = given.shape();
  if (given.rank() == rank + 1) sizes.insert(sizes.begin(), 1);
  return {name,
          w,
          graph::reshape_operand(given, sizes, w),
          graph::reshape_operand(weight, weight.shape(), w),
          {Shape(weight.shape().begin() + 2, weight.shape().end()), {}, {}},
          {},
          {},
          groups};
}

// [N, O, windows..].
Shape result_shape(const ConvolutionArguments& site) {
  Shape sizes = {site.x.size(0), site.weight.size(0)};
  for (int i = 0; i < site.rank(); ++i) {
    std::int64_t size = site.before[i] + site.x.size(2 + i) + site.after[i];
    std::int64_t count = graph::window_count(site.windows, i, size);
    require(count > 0, "[", site.name, "] a window has ", site.windows.kernel[i],
            " elements with a dilation of ", site.windows.dilation[i], ", its axis has ", size,
            " with its padding (at ", At{site.where}, "); it must have room for a window");
    sizes.push_back(count);
  }
  return sizes;
}

// Places of windows that see nothing but what is added around x, in every window, go: of filters
// that are dilated by more than the image has, as pyramids of them are, all but the middle.
void leave_out_unseen_places(ConvolutionArguments& site) {
  const Shape sizes = result_shape(site);
  if (element_count(sizes) == 0) return;
  for (int i = 0; i < site.rank(); ++i) {
    const std::int64_t size = site.x.size(2 + i), stride = site.windows.stride[i],
                       dilation = site.windows.dilation[i];
    auto sees_some = [&](std::int64_t place) {
      const std::int64_t from = place * dilation - site.before[i];  // of the first window
      const std::int64_t window = from < 0 ? (-from + stride - 1) / stride : 0;
      return window < sizes[2 + i] && from + window * stride < size;
    };
    std::int64_t first = 0, end = site.windows.kernel[i];
    while (first < end && !sees_some(first)) ++first;
    while (end > first && !sees_some(end - 1)) --end;
    first = std::min(first, site.before[i] / dilation);
    if (first >= end || (first == 0 && end == site.windows.kernel[i])) continue;
    site.weight = site.weight.slice(2 + i, first, end, 1, site.where);
    site.windows.kernel[i] = end - first;
    site.before[i] -= first * dilation;
    site.after[i] =
        (sizes[2 + i] - 1) * stride + (end - first - 1) * dilation + 1 - site.before[i] - size;
  }
}

// Of filters that see one channel each, element by element: [N, C, windows..] times [C, O / C].
Tensor convolved_by_channel(const ConvolutionArguments& site, const Tensor& around,
                            const Shape& sizes) {
  auto w = site.where;
  std::int64_t places = element_count(site.windows.kernel), of_each = sizes[1] / site.groups;
  Shape along(static_cast<std::size_t>(site.rank()) + 2, 1);
  along[0] = site.groups;
  along[1] = of_each;
  Tensor filters = site.weight.reshape({sizes[1], places}, w).to(site.sums(), w);
  Tensor wide = around.to(site.sums(), w).unsqueeze(2, w), total;
  for (std::int64_t place = 0; place < places; ++place) {
    Tensor filter = filters.slice(1, place, place + 1, 1, w).reshape(along, w);
    Tensor term = product_of(graph::at_place(wide, site.windows, place, w), filter, w);
    total = total.defined() ? sum_of(total, term, w) : term;
  }
  return total.reshape(sizes, w);
}

// True if one op does all of it. Its programs multiply f32; other types gain from the instructions
// of products, which have theirs, or are seldom convolved. GPUs multiply three axes as matrices.
bool is_one_op(const ConvolutionArguments& site) {
  return site.dtype() == DType::f32 && (site.rank() <= 2 || !site.is_for_gpu) &&
         site.x.count() > 0 && site.weight.count() > 0;
}
Tensor convolved_at_once(const ConvolutionArguments& site, const Tensor& bias) {
  const Shape sizes = result_shape(site);
  graph::Attributes attributes;
  attributes.sizes = Shape(sizes.begin() + 2, sizes.end());
  attributes.window_strides = site.windows.stride;
  attributes.dilations = site.windows.dilation;
  attributes.before = site.before;
  attributes.groups = site.groups;
  std::vector<Tensor> operands = {site.x, site.weight};
  if (bias.defined()) operands.push_back(graph::reshape_operand(bias, bias.shape(), site.where));
  return graph::apply(graph::Op::convolution, operands, attributes, site.where);
}

ChannelsLastSite channels_last_of(const ConvolutionArguments& site, const Shape& sizes) {
  return {
      site.x,      site.weight, site.windows, site.before, Shape(sizes.begin() + 2, sizes.end()),
      site.groups, site.where};
}

bool is_channels_last(const ConvolutionArguments& site) {
  return !is_one_op(site) && site.is_for_gpu &&
         graph::is_convolved_channels_last(channels_last_of(site, result_shape(site)));
}

// x [N, C, ..] and weight [O, C / groups, kernel..] -> [N, O, windows..], in the dtype of sums.
Tensor convolved(const ConvolutionArguments& site) {
  auto w = site.where;
  const Shape sizes = result_shape(site);
  std::int64_t outputs = sizes[1], places = element_count(site.windows.kernel);
  if (element_count(sizes) == 0) return zeros(sizes, site.sums(), w);
  if (is_one_op(site)) return convolved_at_once(site, {});
  if (is_channels_last(site))
    return graph::channels_from_last(graph::convolved_channels_last(channels_last_of(site, sizes)),
                                     w);
  Tensor around = graph::padded(site.x, graph::pads(site.before, site.after), 0, w);
  if (site.groups > 1 && site.weight.size(1) == 1 && places <= graph::most_slices)
    return convolved_by_channel(site, around, sizes);
  Tensor columns = graph::all_places(around, site.windows, w);  // [N, C, places, windows]
  std::int64_t inputs = site.weight.size(1) * places;
  std::optional<DType> dtype;
  if (site.sums() != site.dtype()) dtype = site.sums();
  if (site.groups == 1) {
    columns = columns.reshape({sizes[0], inputs, columns.size(-1)}, w);
    Tensor filters = site.weight.reshape({outputs, inputs}, w);
    return matmul({filters, w}, {columns, w}, dtype).reshape(sizes, w);
  }
  columns = columns.reshape({sizes[0], site.groups, inputs, columns.size(-1)}, w);
  Tensor filters = site.weight.reshape({site.groups, outputs / site.groups, inputs}, w);
  return matmul({filters, w}, {columns, w}, dtype).reshape(sizes, w);
}

// Adds the bias and rounds.
Tensor finished(const ConvolutionArguments& site, Tensor y, const Tensor& bias) {
  auto w = site.where;
  if (bias.defined()) {
    Shape along(static_cast<std::size_t>(site.rank()) + 1, 1);
    along[0] = bias.count();
    y = sum_of(y, graph::reshape_operand(bias, along, w).to(site.sums(), w), w);
  }
  return y.to(site.dtype(), w);
}

// The result as the caller gave x, with a batch or without.
Tensor like_given(const Tensor& y, const Tensor& x, source_location w) {
  return x.rank() == y.rank() ? y : y.squeeze(0, w);
}

Tensor convolution(const NamedFunction& function, int rank, const TensorOperand& x,
                   const Tensor& weight, const Tensor& bias, const ConvolutionOptions& options) {
  const std::string_view name = function.name();
  if (const graph::AutocastCall cast(name, x.where); cast.is_listed())
    return convolution(function, rank, cast(x), cast(weight), cast(bias), options);
  ConvolutionArguments site = site_of(name, x, weight, rank, options.groups);
  site.windows.stride = of_axes(site, "the stride", options.stride, 1);
  site.windows.dilation = of_axes(site, "the dilation", options.dilation, 1);
  site.before = site.after = of_axes(site, "the padding", options.padding, 0);
  require_channels(site, site.weight.size(1) * site.groups, site.weight.size(0), bias);
  if (options.keeps_sizes) {
    require(options.padding.empty() &&
                std::ranges::all_of(site.windows.stride, [](auto step) { return step == 1; }),
            "[", name, "] sizes are to be kept with a padding or the stride ", site.windows.stride,
            " (at ", At{x.where}, "); there must be no padding, and a stride of 1");
    for (int i = 0; i < rank; ++i) {
      std::int64_t both = site.windows.dilation[i] * (site.windows.kernel[i] - 1);
      site.before[i] = both / 2;
      site.after[i] = both - both / 2;
    }
  }
  result_shape(site);
  return like_given(function({site.x, site.weight, bias},
                             {{"stride", site.windows.stride},
                              {"before", site.before},
                              {"after", site.after},
                              {"dilation", site.windows.dilation},
                              {"groups", site.groups}},
                             x.where)[0],
                    x.tensor, x.where);
}

// A call of x [N, C, axes..], a weight and perhaps a bias, which have been checked.
ConvolutionArguments site_of(std::string_view name, const FunctionCall& call) {
  const Shape& weight = call[1].shape();
  return {name,
          call.where,
          call[0],
          call[1],
          {Shape(weight.begin() + 2, weight.end()), call.settings.sizes("stride"),
           call.settings.sizes("dilation")},
          {},
          {},
          call.settings.integer("groups"),
          call.target.is_gpu()};
}

std::vector<Tensor> convolution_body(std::string_view name, const FunctionCall& call) {
  ConvolutionArguments site = site_of(name, call);
  site.before = call.settings.sizes("before");
  site.after = call.settings.sizes("after");
  leave_out_unseen_places(site);
  if (is_one_op(site)) return {finished(site, convolved_at_once(site, call[2]), {})};
  return {finished(site, convolved(site), call[2])};
}

// The elements of the last axes so many steps apart, zeros between them.
Tensor spread(const Tensor& given, const Shape& steps, source_location w) {
  Tensor result = given;
  for (int i = 0; i < steps.rank(); ++i) {
    int axis = given.rank() - steps.rank() + i;
    std::int64_t step = steps[i], size = result.size(axis);
    if (step == 1 || size == 0) continue;
    Tensor apart = result.unsqueeze(axis + 1, w);
    Shape gap = apart.shape(), joined = result.shape();
    gap[axis + 1] = step - 1;
    joined[axis] *= step;
    result = cat({apart, zeros(gap, result.dtype(), w)}, axis + 1, w)
                 .reshape(joined, w)
                 .slice(axis, 0, (size - 1) * step + 1, 1, w);
  }
  return result;
}

// True if the zeros of a dilation beside a stride go into the filter, else into x: if that makes
// its blocks twice as large at the most.
bool spreads_the_weight(const ConvolutionArguments& site) {
  double blocks = 1;
  for (int i = 0; i < site.rank(); ++i)
    blocks *= static_cast<double>(divide_up(
        (site.windows.kernel[i] - 1) * site.windows.dilation[i] + 1, site.windows.stride[i]));
  return blocks <= 2 * static_cast<double>(element_count(site.windows.kernel));
}

// The gradient of a convolution for what it is given. No product is with a zero, but for those that
// fill up the last block of the kernel, and those of a dilation beside a stride.
Tensor transposed(const NamedFunction& function, int rank, const TensorOperand& x,
                  const Tensor& weight, const Tensor& bias,
                  const TransposedConvolutionOptions& options) {
  if (const graph::AutocastCall cast(function.name(), x.where); cast.is_listed())
    return transposed(function, rank, cast(x), cast(weight), cast(bias), options);
  auto w = x.where;
  const std::string_view name = function.name();
  const ConvolutionArguments site = site_of(name, x, weight, rank, options.groups);
  const Shape stride = of_axes(site, "the stride", options.stride, 1);
  const Shape dilation = of_axes(site, "the dilation", options.dilation, 1);
  const Shape padding = of_axes(site, "the padding", options.padding, 0);
  const Shape more = of_axes(site, "the output padding", options.output_padding, 0);
  require_channels(site, site.weight.size(0), site.weight.size(1) * options.groups, bias);
  for (int i = 0; i < rank; ++i) {
    std::int64_t most = std::max(stride[i], dilation[i]);
    require(more[i] < most, "[", name, "] a value of the output padding is ", more[i], " (at ",
            At{w}, "); it must be less than the stride or the dilation, ", most);
  }
  return like_given(function({site.x, site.weight, bias},
                             {{"stride", stride},
                              {"padding", padding},
                              {"output_padding", more},
                              {"dilation", dilation},
                              {"groups", options.groups}},
                             w)[0],
                    x.tensor, w);
}

std::vector<Tensor> transposed_body(std::string_view name, const FunctionCall& call) {
  auto w = call.where;
  ConvolutionArguments site = site_of(name, call);
  const int rank = site.rank();
  const Shape &padding = call.settings.sizes("padding"),
              &more = call.settings.sizes("output_padding");
  Shape stride = site.windows.stride, dilation = site.windows.dilation;
  const Tensor& bias = call[2];
  Shape sizes, blocks, before, after;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = site.x.size(2 + i),
                       reach = dilation[i] * (site.windows.kernel[i] - 1);
    sizes.push_back((size - 1) * stride[i] + reach + 1 + more[i] - 2 * padding[i]);
    require(sizes[i] > 0 && size > 0, "[", name, "] axis ", i, " of x has ", size,
            " elements, with a padding of ", padding[i], " (at ", At{w},
            "); the result must have an element");
  }
  if (is_one_op(site) && !site.is_for_gpu)
    if (const auto y = graph::transposed_in_parts(
            {site.x, site.weight, bias, stride, dilation, padding, sizes, site.groups, w}))
      return {finished(site, *y, {})};
  if (element_count(stride) > 1 && element_count(dilation) > 1) {
    if (spreads_the_weight(site)) {
      site.weight = spread(site.weight, dilation, w);
      site.windows.kernel = Shape(site.weight.shape().begin() + 2, site.weight.shape().end());
      dilation = Shape(stride.size(), 1);
    } else {
      site.x = spread(site.x, stride, w);
      stride = Shape(stride.size(), 1);
    }
  }
  for (int i = 0; i < rank; ++i) {
    blocks.push_back((site.windows.kernel[i] + stride[i] - 1) / stride[i]);
    site.before.push_back(dilation[i] * (blocks[i] - 1));
    std::int64_t have = (site.x.size(2 + i) + site.before[i]) * stride[i];
    before.push_back(-padding[i]);
    after.push_back(sizes[i] + padding[i] - have);
  }
  site.weight = graph::filters_by_place(site.weight, site.groups, stride, blocks, w);
  site.windows = {blocks, Shape(stride.size(), 1), dilation};
  site.after = site.before;
  const bool is_cut_alone = std::ranges::all_of(after, [](std::int64_t n) { return n <= 0; });
  if (is_cut_alone && is_channels_last(site)) {
    const ChannelsLastSite last = channels_last_of(site, result_shape(site));
    Tensor all =
        graph::channels_from_last(graph::convolved_blocks_channels_last(last, stride, bias), w);
    return {graph::padded(all, graph::pads(before, after), 0, w)};
  }
  Tensor whole = graph::joined_blocks(convolved(site), stride, w);
  Tensor y = graph::padded(whole, graph::pads(before, after), 0, w);
  return {finished(site, y, bias)};
}

}  // namespace

namespace graph::named {

extern const NamedFunction conv1d_function;
const NamedFunction conv1d_function(
    "conv1d", [](const FunctionCall& call) { return convolution_body("conv1d", call); },
    convolution_derivative);
extern const NamedFunction conv2d_function;
const NamedFunction conv2d_function(
    "conv2d", [](const FunctionCall& call) { return convolution_body("conv2d", call); },
    convolution_derivative);
extern const NamedFunction conv3d_function;
const NamedFunction conv3d_function(
    "conv3d", [](const FunctionCall& call) { return convolution_body("conv3d", call); },
    convolution_derivative);
extern const NamedFunction conv_transpose1d_function;
const NamedFunction conv_transpose1d_function(
    "conv_transpose1d",
    [](const FunctionCall& call) { return transposed_body("conv_transpose1d", call); },
    transposed_convolution_derivative);
extern const NamedFunction conv_transpose2d_function;
const NamedFunction conv_transpose2d_function(
    "conv_transpose2d",
    [](const FunctionCall& call) { return transposed_body("conv_transpose2d", call); },
    transposed_convolution_derivative);
extern const NamedFunction conv_transpose3d_function;
const NamedFunction conv_transpose3d_function(
    "conv_transpose3d",
    [](const FunctionCall& call) { return transposed_body("conv_transpose3d", call); },
    transposed_convolution_derivative);

}  // namespace graph::named

Tensor conv1d(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options) {
  return convolution(graph::named::conv1d_function, 1, x, weight, bias, options);
}
Tensor conv2d(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options) {
  return convolution(graph::named::conv2d_function, 2, x, weight, bias, options);
}
Tensor conv3d(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options) {
  return convolution(graph::named::conv3d_function, 3, x, weight, bias, options);
}
Tensor conv_transpose1d(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
                        const TransposedConvolutionOptions& options) {
  return transposed(graph::named::conv_transpose1d_function, 1, x, weight, bias, options);
}
Tensor conv_transpose2d(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
                        const TransposedConvolutionOptions& options) {
  return transposed(graph::named::conv_transpose2d_function, 2, x, weight, bias, options);
}
Tensor conv_transpose3d(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
                        const TransposedConvolutionOptions& options) {
  return transposed(graph::named::conv_transpose3d_function, 3, x, weight, bias, options);
}

}  // namespace tilewright
