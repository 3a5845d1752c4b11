// Convolutions against their definition in loops, at once and compiled.
#include "graph/functions/convolving/convolution.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/norms.h"
#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"
#include "tests/tensors.h"

namespace tilewright {
namespace {

using Floats = std::vector<float>;

// Three axes; those that are not there have size 1.
struct Extent {
  std::int64_t n = 1, channels = 1, outputs = 1, groups = 1;
  std::vector<std::int64_t> sizes = {1}, kernel = {1}, stride = {1}, padding = {0}, dilation = {1},
                            more = {0};

  int rank() const { return static_cast<int>(sizes.size()); }
  std::int64_t size(int i) const { return sizes[static_cast<std::size_t>(i)]; }
  Shape with(std::int64_t a, std::int64_t b, const std::vector<std::int64_t>& last) const {
    Shape shape = {a, b};
    shape.insert(shape.end(), last.begin(), last.end());
    return shape;
  }
};

// Whole numbers, so that sums are exact in any order.
Tensor numbers(const Shape& shape) {
  Floats elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<float>(i * 31 % 13) - 6;
  return Tensor::from(elements, shape);
}

// Calls visit(place) for each list of numbers below `sizes`, row-major.
void for_each(const std::vector<std::int64_t>& sizes,
              const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> at(sizes.size(), 0);
  for (std::int64_t i = 0; i < element_count(Shape(sizes)); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
      at[axis] = rest % sizes[axis];
    visit(at);
  }
}
std::int64_t place_in(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& at) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) place = place * sizes[axis] + at[axis];
  return place;
}

// Calls visit(index in x, index in y, place in the kernel) for the pairs along the axes that meet:
// x at start, from which a window begins, + place * dilation.
void for_each_meeting(const Extent& e, const std::vector<std::int64_t>& of_x,
                      const std::vector<std::int64_t>& of_y,
                      const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  for_each(of_y, [&](const std::vector<std::int64_t>& window) {
    for_each(e.kernel, [&](const std::vector<std::int64_t>& place) {
      std::vector<std::int64_t> at(window.size());
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = window[i] * e.stride[i] - e.padding[i] + place[i] * e.dilation[i];
        if (at[i] < 0 || at[i] >= of_x[i]) return;
      }
      visit(place_in(of_x, at), place_in(of_y, window), place_in(e.kernel, place));
    });
  });
}

Floats wanted(const Extent& e, const Floats& x, const Floats& weight, const Floats& bias,
              const std::vector<std::int64_t>& result, bool is_transposed) {
  std::int64_t ins = e.channels / e.groups, outs = e.outputs / e.groups;
  std::int64_t from = element_count(Shape(e.sizes)), to = element_count(Shape(result)),
               places = element_count(Shape(e.kernel));
  Floats y(static_cast<std::size_t>(e.n * e.outputs * to));
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = bias[i / static_cast<std::size_t>(to) % static_cast<std::size_t>(e.outputs)];
  auto add = [&](std::int64_t n, std::int64_t c, std::int64_t o, std::int64_t x_at,
                 std::int64_t y_at, std::int64_t place) {
    std::int64_t filter = is_transposed ? c * outs + o % outs : o * ins + c % ins;
    y[static_cast<std::size_t>((n * e.outputs + o) * to + y_at)] +=
        x[static_cast<std::size_t>((n * e.channels + c) * from + x_at)] *
        weight[static_cast<std::size_t>(filter * places + place)];
  };
  for (std::int64_t n = 0; n < e.n; ++n)
    for (std::int64_t o = 0; o < e.outputs; ++o)
      for (std::int64_t c = o / outs * ins; c < (o / outs + 1) * ins; ++c) {
        if (is_transposed)
          for_each_meeting(e, result, e.sizes, [&](auto y_at, auto x_at, auto place) {
            add(n, c, o, x_at, y_at, place);
          });
        else
          for_each_meeting(e, e.sizes, result, [&](auto x_at, auto y_at, auto place) {
            add(n, c, o, x_at, y_at, place);
          });
      }
  return y;
}

Tensor convolved(const Extent& e, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  ConvolutionOptions options{
      .stride = e.stride, .padding = e.padding, .dilation = e.dilation, .groups = e.groups};
  if (e.rank() == 1) return conv1d(x, weight, bias, options);
  return e.rank() == 2 ? conv2d(x, weight, bias, options) : conv3d(x, weight, bias, options);
}
Tensor transposed(const Extent& e, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  TransposedConvolutionOptions options{.stride = e.stride,
                                       .padding = e.padding,
                                       .output_padding = e.more,
                                       .dilation = e.dilation,
                                       .groups = e.groups};
  if (e.rank() == 1) return conv_transpose1d(x, weight, bias, options);
  return e.rank() == 2 ? conv_transpose2d(x, weight, bias, options)
                       : conv_transpose3d(x, weight, bias, options);
}

void expect_definition(const Extent& e, bool is_transposed) {
  Tensor x = numbers(e.with(e.n, e.channels, e.sizes)), bias = numbers({e.outputs});
  Tensor weight = numbers(is_transposed ? e.with(e.channels, e.outputs / e.groups, e.kernel)
                                        : e.with(e.outputs, e.channels / e.groups, e.kernel));
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < e.sizes.size(); ++i) {
    std::int64_t reach = e.dilation[i] * (e.kernel[i] - 1);
    result.push_back(is_transposed
                         ? (e.sizes[i] - 1) * e.stride[i] - 2 * e.padding[i] + reach + e.more[i] + 1
                         : (e.sizes[i] + 2 * e.padding[i] - reach - 1) / e.stride[i] + 1);
  }
  Floats want = wanted(e, x.to_vector<float>(), weight.to_vector<float>(), bias.to_vector<float>(),
                       result, is_transposed);
  auto function = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return is_transposed ? transposed(e, a, b, c) : convolved(e, a, b, c);
  };
  SCOPED_TRACE(concat("x ", x.shape(), ", weight ", weight.shape()));
  for (const Tensor& y : {function(x, weight, bias), compile(function)(x, weight, bias)}) {
    EXPECT_EQ(y.shape(), e.with(e.n, e.outputs, result));
    EXPECT_EQ(y.to_vector<float>(), want);
  }
}

TEST(Convolution, IsTheSumOverItsWindows) {
  for (const Extent& e : std::vector<Extent>{
           {.channels = 3, .outputs = 4, .sizes = {9}, .kernel = {3}},
           {.channels = 2, .outputs = 1, .sizes = {200}, .kernel = {70}, .stride = {9}},
           {.n = 2,
           .channels = 3,
           .outputs = 5,
           .sizes = {6, 7},
           .kernel = {3, 2},
           .stride = {2, 1},
           .padding = {1, 2},
           .dilation = {1, 2},
           .more = {0, 0}},
           {.channels = 5,
           .outputs = 3,
           .sizes = {4, 6},
           .kernel = {1, 1},
           .stride = {1, 1},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 5,
           .outputs = 3,
           .sizes = {5, 6},
           .kernel = {1, 1},
           .stride = {2, 2},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 3,
           .outputs = 2,
           .sizes = {4, 6},
           .kernel = {2, 3},
           .stride = {2, 3},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.n = 2,
           .channels = 2,
           .outputs = 3,
           .sizes = {4, 3, 5},
           .kernel = {2, 3, 2},
           .stride = {1, 1, 2},
           .padding = {0, 1, 1},
           .dilation = {2, 1, 1},
           .more = {0, 0, 0}},
       })
    expect_definition(e, false);
}

// Of wide images a block has a part of several rows; the last ones have less.
TEST(Convolution, CutsWideImagesIntoBlocksOfSeveralRows) {
  for (const Extent& e : std::vector<Extent>{
           {.channels = 4,
  .outputs = 5,
  .sizes = {13, 259},
  .kernel = {3, 3},
  .stride = {1, 1},
  .padding = {1, 1},
  .dilation = {1, 1},
  .more = {0, 0}},
           {.n = 2,
           .channels = 4,
           .outputs = 6,
           .groups = 2,
           .sizes = {23, 531},
           .kernel = {5, 3},
           .stride = {2, 2},
           .padding = {2, 0},
           .dilation = {1, 2},
           .more = {0, 0}},
       })
    expect_definition(e, false);
}

TEST(Convolution, DividesChannelsIntoGroups) {
  for (std::int64_t outputs : {4, 8, 12})
    for (std::int64_t groups : {2, 4})
      expect_definition({.n = 2,
                         .channels = 4,
                         .outputs = outputs,
                         .groups = groups,
                         .sizes = {5, 6},
                         .kernel = {3, 3},
                         .stride = {1, 2},
                         .padding = {1, 1},
                         .dilation = {1, 1},
                         .more = {0, 0}},
                        false);
}

// On a GPU channels of 16 bits are last (channels_last.h). Sums of small whole numbers are exact.
void expect_definition_on_gpus(const Extent& e, bool is_transposed = false) {
  Tensor x = numbers(e.with(e.n, e.channels, e.sizes)), bias = numbers({e.outputs});
  Tensor weight = numbers(is_transposed ? e.with(e.channels, e.outputs / e.groups, e.kernel)
                                        : e.with(e.outputs, e.channels / e.groups, e.kernel));
  auto function = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return is_transposed ? transposed(e, a, b, c) : convolved(e, a, b, c);
  };
  const Tensor want = function(x, weight, bias);
  for (const char* device : {"emulated:sm_80", "emulated:sm_90a"})
    for (DType dtype : {DType::bf16, DType::f16}) {
      SCOPED_TRACE(concat(device, ", x ", dtype, " ", x.shape(), ", weight ", weight.shape()));
      auto compiled = compile(function, {.device = Device::parse(device)});
      const Tensor y = compiled(x.to(dtype), weight.to(dtype), bias.to(dtype));
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(y.shape(), want.shape());
      EXPECT_EQ(y.to(f32).to_vector<float>(), want.to(dtype).to(f32).to_vector<float>());
    }
}

TEST(Convolution, OfSixteenBitsOnAGpuIsTheSumOverItsWindows) {
  for (const Extent& e : std::vector<Extent>{
           {.n = 2,
  .channels = 3,
  .outputs = 5,
  .sizes = {6, 7},
  .kernel = {3, 2},
  .stride = {2, 1},
  .padding = {1, 2},
  .dilation = {1, 2}},
           {.n = 2,
           .channels = 16,
           .outputs = 8,
           .sizes = {5, 5},
           .kernel = {3, 3},
           .stride = {1, 1},
           .padding = {1, 1},
           .dilation = {1, 1}},
           {.channels = 5,
           .outputs = 3,
           .sizes = {5, 6},
           .kernel = {1, 1},
           .stride = {2, 2},
           .padding = {0, 0},
           .dilation = {1, 1}},
           {.channels = 8,
           .outputs = 4,
           .sizes = {3, 3},
           .kernel = {1, 1},
           .stride = {1, 1},
           .padding = {1, 1},
           .dilation = {1, 1}},
           {.n = 2,
           .channels = 6,
           .outputs = 6,
           .groups = 6,
           .sizes = {5, 6},
           .kernel = {3, 2},
           .stride = {1, 2},
           .padding = {1, 1},
           .dilation = {2, 1}},
           {.n = 2,
           .channels = 4,
           .outputs = 4,
           .groups = 4,
           .sizes = {4, 4},
           .kernel = {2, 2},
           .stride = {2, 2},
           .padding = {0, 0},
           .dilation = {1, 1}},
           {.n = 2,
           .channels = 4,
           .outputs = 6,
           .groups = 2,
           .sizes = {4, 4},
           .kernel = {2, 2},
           .stride = {1, 1},
           .padding = {1, 0},
           .dilation = {1, 1}},
           {.n = 2,
           .channels = 2,
           .outputs = 3,
           .sizes = {4, 3, 5},
           .kernel = {2, 3, 2},
           .stride = {1, 1, 2},
           .padding = {0, 1, 1},
           .dilation = {2, 1, 1}},
       })
    expect_definition_on_gpus(e);
}

// Nothing is copied into another order between layers: a block of a residual network is a product
// for each convolution, with all that follows it, and a copy of what the windows of 3 x 3 see.
TEST(TransposedConvolution, OfSixteenBitsOnAGpuAddsEachElementTimesTheFilter) {
  for (const Extent& e : std::vector<Extent>{
           {.n = 2,
  .channels = 8,
  .outputs = 5,
  .sizes = {3, 4},
  .kernel = {2, 2},
  .stride = {2, 2},
  .padding = {0, 0},
  .dilation = {1, 1},
  .more = {0, 0}},
           {.n = 2,
           .channels = 3,
           .outputs = 8,
           .sizes = {3, 4},
           .kernel = {3, 4},
           .stride = {2, 3},
           .padding = {1, 2},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 3,
           .outputs = 2,
           .sizes = {3, 3},
           .kernel = {3, 3},
           .stride = {2, 2},
           .padding = {0, 1},
           .dilation = {1, 2},
           .more = {1, 1}},
           {.channels = 2,
           .outputs = 3,
           .sizes = {2, 3, 2},
           .kernel = {2, 2, 3},
           .stride = {2, 1, 2},
           .padding = {0, 0, 1},
           .dilation = {1, 1, 1},
           .more = {0, 0, 0}},
       })
    expect_definition_on_gpus(e, true);
}

TEST(Convolution, OfSixteenBitsOnAGpuLeavesChannelsLastBetweenLayers) {
  const Tensor x = numbers({2, 16, 4, 4}).to(bf16), narrow = numbers({8, 16, 1, 1}).to(bf16),
               square = numbers({8, 8, 3, 3}).to(bf16), wide = numbers({16, 8, 1, 1}).to(bf16),
               mean = numbers({8}), variance = abs(numbers({8})) + 1.0;
  auto normed = [&](const Tensor& t) {
    return relu(batch_norm_inference(t, mean, variance, {}, {}, 1e-5));
  };
  auto block = [&](const Tensor& t) {
    const Tensor inner = normed(conv2d(normed(conv2d(t, narrow)), square, {}, {.padding = {1}}));
    return relu(conv2d(inner, wide) + t);
  };
  auto function = [&](const Tensor& t) { return sum(block(block(t)).to(f32), {2, 3}); };
  const std::vector<float> want = function(x).to_vector<float>();
  for (const char* device : {"emulated:sm_80", "emulated:sm_90a"}) {
    auto compiled =
        compile(function, {.fullgraph = true, .device = Device::parse(device), .freezing = true});
    const std::vector<float> got = compiled(x).to_vector<float>();
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 0.02 * (1 + std::abs(want[i]))) << device << " " << i;
    const PlanReport report = compiled.report().at(0);
    std::int64_t launches = 0;
    for (const RegionReport& region : report.regions) {
      launches += region.instances;
      EXPECT_NE(region.kernel, "rows_copy") << compiled.explain();
    }
    EXPECT_LE(launches, 9) << compiled.explain();  // six products, two copies, the sum
  }
}

TEST(TransposedConvolution, AddsEachElementTimesTheFilter) {
  for (const Extent& e : std::vector<Extent>{
           {.channels = 3, .outputs = 4, .sizes = {5}, .kernel = {3}},
           {.channels = 3, .outputs = 2, .sizes = {5}, .kernel = {1}, .stride = {2}, .more = {1}},
           {.n = 2,
           .channels = 4,
           .outputs = 6,
           .groups = 2,
           .sizes = {3, 4},
           .kernel = {3, 2},
           .stride = {2, 3},
           .padding = {1, 2},
           .dilation = {1, 2},
           .more = {1, 2}},
           {.channels = 3,
           .outputs = 3,
           .groups = 3,
           .sizes = {3, 4},
           .kernel = {2, 2},
           .stride = {2, 1},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 2,
           .outputs = 2,
           .sizes = {2, 3, 2},
           .kernel = {2, 2, 3},
           .stride = {2, 1, 2},
           .padding = {0, 1, 0},
           .dilation = {1, 1, 1},
           .more = {1, 0, 0}},
       })
    expect_definition(e, true);
}

// Where the stride does not divide the kernel, is larger, or meets a dilation.
TEST(TransposedConvolution, FillsUpTheLastBlockOfTheKernel) {
  for (std::int64_t kernel : {1, 2, 3, 5})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t dilation : {1, 2})
        expect_definition({.channels = 2,
                           .outputs = 3,
                           .sizes = {4},
                           .kernel = {kernel},
                           .stride = {stride},
                           .padding = {1},
                           .dilation = {dilation},
                           .more = {stride - 1}},
                          true);
}

TEST(Convolution, KeepsSizesWhereItIsAskedTo) {
  Tensor x = numbers({3, 6, 5}), weight = numbers({2, 3, 4, 3});
  Tensor y = conv2d(x, weight, {}, {.dilation = {1, 2}, .keeps_sizes = true});
  EXPECT_EQ(y.shape(), (Shape{2, 6, 5}));
  // An odd number of zeros: one more behind.
  Tensor line = Tensor::from(Floats{1, 2, 3}, {1, 1, 3});
  Tensor pairs = conv1d(line, ones({1, 1, 2}), {}, {.keeps_sizes = true});
  EXPECT_EQ(pairs.to_vector<float>(), (Floats{3, 5, 3}));
}

// 256 + 1 + .. + 1 stays 256 where each sum is rounded to bf16.
TEST(Convolution, SumsOf16BitsAreCarriedInF32) {
  for (std::int64_t groups : {1, 8}) {
    Tensor x = ones({1, 8, 4, 4}, DType::bf16);
    Tensor weight = ones({8, 8 / groups, 3, 3}, DType::bf16);
    Tensor bias = full({8}, 256, DType::bf16);
    Tensor y = conv2d(x, weight, bias, {.groups = groups});
    EXPECT_EQ(y.dtype(), DType::bf16);
    float sum = groups == 1 ? 328.0F : 264.0F;  // 265 is no bf16; the even of its neighbours
    EXPECT_EQ(y.to(DType::f32).to_vector<float>(), Floats(32, sum));
  }
}

// A slice for each place of a window, or one look-up where there are many.
TEST(Convolution, LooksElementsUpInLargeWindowsAlone) {
  for (std::int64_t size : {4, 5}) {
    const graph::Graph graph = graph::captured(
        {{1, 2, 6, 6, 6}, {3, 2, size, size, size}},
        [](std::vector<Tensor>& t) { return std::vector<Tensor>{conv3d(t[0], t[1], {})}; });
    EXPECT_EQ(print(graph).find("embedding") != std::string::npos, size == 5) << print(graph);
  }
}

TEST(Convolution, OfNoBatchIsEmpty) {
  Tensor y = conv2d(zeros({0, 3, 5, 5}), zeros({4, 3, 3, 3}), zeros({4}));
  EXPECT_EQ(y.shape(), (Shape{0, 4, 3, 3}));
}

TEST(Convolution, SaysWhatDoesNotFit) {
  Tensor x = zeros({1, 2, 4, 4}), weight = zeros({3, 2, 3, 3});
  auto error = [&](const Tensor& a, const Tensor& b, const ConvolutionOptions& o) {
    return error_of([&] { conv2d(a, b, {}, o); });
  };
  expect_contains(error(zeros({4}), weight, {}), "equal ranks are wanted");
  expect_contains(error(x, zeros({3, 5, 3, 3}), {}), "the channels do not agree");
  for (std::int64_t groups : {0, -4, 2})
    expect_contains(error(x, weight, {.groups = groups}), "it must divide 3");
  expect_contains(error(x, zeros({3, 2, 0, 3}), {}), "its windows must have a place");
  expect_contains(error(x, zeros({3, 2, 5, 3}), {}), "it must have room for a window");
  expect_contains(error(x, weight.to(DType::f64), {}), "they must have one dtype");
  expect_contains(error(x, weight, {.stride = {0}}), "a value of the stride is 0");
  expect_contains(error(x, weight, {.padding = {1, 1, 1}}), "there must be one, or 2");
  expect_contains(error(x, weight, {.stride = {2}, .keeps_sizes = true}), "a stride of 1");
  expect_contains(error_of([&] { conv2d(x, weight, zeros({2})); }), "it must have 3 elements");
  expect_contains(error_of([&] {
                    conv_transpose2d(zeros({1, 3, 4, 4}), weight, {}, {.output_padding = {1}});
                  }),
                  "it must be less than the stride or the dilation, 1");
  expect_contains(error_of([&] {
                    conv_transpose2d(zeros({1, 3, 1, 1}), weight, {}, {.padding = {2}});
                  }),
                  "the result must have an element");
}

}  // namespace
}  // namespace tilewright
