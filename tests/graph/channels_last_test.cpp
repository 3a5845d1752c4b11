// Convolutions of 16 bits on GPUs, which have channels last within (channels_last.h), against those
// of f32 on the host.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/reducing/norms.h"
#include "runtime/base/error.h"
#include "tests/graph/convolution_cases.h"

namespace tilewright::channels_last_test {
namespace {

using namespace testing_convolutions;

// Sums of small whole numbers are exact.
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
           // As large with its zeros in front as without, since the last elements are in no window.
           {.channels = 4,
           .outputs = 4,
           .groups = 4,
           .sizes = {5, 5},
           .kernel = {2, 2},
           .stride = {3, 3},
           .padding = {1, 1},
           .dilation = {1, 1}},
           {.channels = 4,
           .outputs = 8,
           .sizes = {5, 5},
           .kernel = {2, 2},
           .stride = {3, 3},
           .padding = {1, 1},
           .dilation = {1, 1}},
       })
    expect_definition_on_gpus(e);
}

TEST(Pooling, OfSixteenBitsOnAGpuFindsTheGreatest) {
  for (const Shape& sizes : {Shape{2, 4, 5, 5}, Shape{1, 3, 8, 7}, Shape{1, 2, 3, 5, 5}})
    for (std::int64_t stride : {1, 2, 3})
      for (bool ceil_mode : {false, true}) {
        const Tensor x = numbers(sizes) - 7.0;
        auto function = [&](const Tensor& t) {
          const MaxPoolOptions options{.stride = {stride}, .padding = {1}, .ceil_mode = ceil_mode};
          return sizes.rank() == 4 ? max_pool2d(t, {2}, options) : max_pool3d(t, {2}, options);
        };
        for (const char* device : {"emulated:sm_80", "emulated:sm_90a"}) {
          auto compiled = compile(function, {.device = Device::parse(device)});
          EXPECT_EQ(compiled(x.to(bf16)).to(f32).to_vector<float>(), function(x).to_vector<float>())
              << sizes << " every " << stride << (ceil_mode ? ", rounded up" : "");
        }
      }
}

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

// Nothing is copied into another order between layers: a block of a residual network is a product
// for each convolution, with all that follows it, and a copy of what the windows of 3 x 3 see.
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

}  // namespace
}  // namespace tilewright::channels_last_test
