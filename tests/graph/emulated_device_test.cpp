// Compiled functions on emulated GPUs compute the same as op by op on the host.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/launch/device.h"
#include "graph/compile/compile.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/emulated_device.h"
#include "tests/graph/noise.h"

namespace tilewright::emulated_device_test {
namespace {

using namespace testing_emulated;

using testing_noise::noise;

INSTANTIATE_TEST_SUITE_P(Targets, EmulatedDevice, testing::Values("sm_80", "sm_90a"));

TEST_P(EmulatedDevice, ComputesElementwise) {
  auto f = [](const Tensor& a, const Tensor& b) { return gelu(a * 2 + b) / (1 + exp(a)); };
  expect_same(f, {noise({3, 5}), noise({5}, 2)});
  expect_same(f, {noise({70, 130}), noise({70, 1}, 2)});
  expect_same(f, {noise({40'001}), noise({40'001}, 2)});
}

TEST_P(EmulatedDevice, ComputesSoftmaxOfRowsOfAnyLength) {
  auto f = [](const Tensor& x) { return softmax(x, -1); };
  for (std::int64_t width : {1, 7, 96, 1000, 5000}) expect_same(f, {noise({9, width})});
  expect_same(f, {noise({2, 40'000})});
  expect_same(f, {noise({2, 17'001})});
}

TEST_P(EmulatedDevice, ComputesSoftmaxAndSumsOverTheFirstAxis) {
  expect_same([](const Tensor& x) { return softmax(x, 0); }, {noise({65, 40})});
  expect_same([](const Tensor& x) { return sum(x, {0}); }, {noise({700, 100})});
  expect_same([](const Tensor& x) { return amax(x, {0}); }, {noise({3000, 40})});
}

TEST_P(EmulatedDevice, ComputesLayerNorm) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, w, b); };
  for (std::int64_t width : {48, 768, 20'000})
    expect_same(f, {noise({6, width}), noise({width}, 2), noise({width}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, FindsTheLargestInRowsOfAnyLength) {
  auto f = [](const Tensor& x) { return argmax(x, -1); };
  for (std::int64_t width : {50, 3000, 33'000}) expect_same(f, {noise({4, width})});
  std::vector<float> equal(40'000, 1.0F);
  equal[5] = equal[39'999] = 2.0F;
  expect_same(f, {Tensor::from(equal, {1, 40'000})});
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = INFINITY;
  for (float unlike : {nan, -infinity, infinity}) {
    std::vector<float> row(40'000, -infinity);
    row[20'003] = row[39'000] = unlike;
    expect_same(f, {Tensor::from(row, {1, 40'000})});
  }
}

TEST_P(EmulatedDevice, ComputesProductsWithWhatFollowsThem) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return relu(linear(x, w, b)); };
  for (std::int64_t rows : {1, 5, 33, 130})
    for (std::int64_t depth : {16, 100, 300})
      expect_same(f, {noise({rows, depth}), noise({70, depth}, 2), noise({70}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, SharesTheInnerAxisOfSmallProductsAmongPrograms) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return gelu(linear(x, w, b)) * 2;
  };
  for (std::int64_t depth : {2048, 3001})
    expect_same(f, {noise({20, depth}), noise({40, depth}, 2), noise({40}, 3)}, 2e-4);
  auto g = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  expect_same(g, {noise({2, 40, 1500}), noise({2, 1500, 30}, 2)}, 2e-4);
  auto gated = [](const Tensor& x, const Tensor& n, const Tensor& u, const Tensor& w) {
    Tensor y = rms_norm(x, n);
    return silu(linear(y, u)) * linear(y, w);
  };
  expect_same(gated,
              {noise({20, 2000}), noise({2000}, 2), noise({30, 2000}, 3), noise({30, 2000}, 4)},
              2e-4);
  for (DType dtype : {DType::f16, DType::bf16})
    expect_same(g, {noise({64, 2048}).to(dtype), noise({2048, 32}, 2).to(dtype)}, 4e-2);
}

TEST_P(EmulatedDevice, ComputesProductsOfFewRows) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (std::int64_t rows : {1, 2, 3, 4, 7})
      for (std::int64_t depth : {72, 1300}) {
        double tolerance = dtype == DType::f32 ? 2e-4 : 3e-2;
        Tensor x = noise({rows, depth}).to(dtype), w = noise({50, depth}, 2).to(dtype);
        expect_same([](const Tensor& a, const Tensor& b) { return relu(linear(a, b)); }, {x, w},
                    tolerance);
        expect_same([](const Tensor& a, const Tensor& b) { return matmul(a, b) * 2; },
                    {x, noise({depth, 50}, 2).to(dtype)}, tolerance);
      }
  expect_same([](const Tensor& x, const Tensor& g,
                 const Tensor& w) { return silu(linear(rms_norm(x, g), w)); },
              {noise({1, 3000}), noise({3000}, 2), noise({40, 3000}, 3)}, 2e-4);
}

TEST_P(EmulatedDevice, ComputesProductsOfHalfPrecision) {
  auto f = [](const Tensor& a, const Tensor& b) { return matmul(a, b) * 0.5; };
  for (DType dtype : {DType::f16, DType::bf16})
    expect_same(f, {noise({70, 64}).to(dtype), noise({64, 96}, 2).to(dtype)}, 2e-2);
}

TEST_P(EmulatedDevice, MultipliesFloatsOf8Bits) {
  auto scaled = [](const Tensor& a, const Tensor& b) {
    return (matmul(a, b.permute({1, 0})) * 0.25).to(DType::bf16);
  };
  auto plain = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  auto made = [](const Tensor& a, const Tensor& b) {
    return matmul((a * 3).to(b.dtype()), b.permute({1, 0}));
  };
  for (DType dtype : {DType::f8e4m3, DType::f8e5m2, DType::f8e4m3fnuz}) {
    auto random = [&](const Shape& shape, std::uint32_t seed) {
      return noise(shape, seed).to(dtype);
    };
    expect_same(scaled, {random({200, 256}, 1), random({300, 256}, 2)}, 1e-2);
    expect_same(scaled, {random({9, 96}, 1), random({70, 96}, 2)}, 1e-2);
    expect_same(scaled, {random({1, 96}, 1), random({70, 96}, 2)}, 1e-2);
    expect_same(plain, {random({40, 64}, 1), random({64, 48}, 2)}, 1e-4);
    expect_same(made, {noise({70, 128}), random({40, 128}, 2)}, 1e-4);
  }
}

TEST_P(EmulatedDevice, MultipliesF32AsTf32WhereThatIsAskedFor) {
  auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  auto of_rows = [](const Tensor& x, const Tensor& w) { return relu(linear(x, w)); };
  auto attention = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, at_the_end);
  };
  constexpr double tolerance = 8e-3;
  auto high = MatmulPrecision::high;
  expect_same(product, {noise({70, 64}), noise({64, 96}, 2)}, tolerance, high);
  expect_same(of_rows, {noise({200, 160}), noise({300, 160}, 2)}, tolerance, high);
  expect_same(of_rows, {noise({9, 96}), noise({70, 96}, 2)}, tolerance, high);
  expect_same(attention,
              {noise({1, 4, 100, 32}), noise({1, 2, 100, 32}, 2), noise({1, 2, 100, 32}, 3)},
              tolerance, high);
  expect_same(attention,
              {noise({1, 4, 3, 32}), noise({1, 2, 100, 32}, 2), noise({1, 2, 100, 32}, 3)},
              tolerance, high);

  CompiledFunction fast(
      [=](const std::vector<Tensor>& a) { return std::vector<Tensor>{product(a[0], a[1])}; },
      {.matmul_precision = high, .device = Device::emulated(GetParam())});
  fast.call({noise({64, 64}), noise({64, 64}, 2)});
  expect_contains(fast.dump(), ", tf32 : f32[");
}

TEST_P(EmulatedDevice, ComputesProductsOfWhatIsNormalised) {
  auto f = [](const Tensor& x, const Tensor& w, const Tensor& g) {
    return silu(linear(rms_norm(x, g), w)) + 1;
  };
  expect_same(f, {noise({40, 200}), noise({300, 200}, 2), noise({200}, 3)}, 1e-4);
  expect_same(f, {noise({2, 500}), noise({80, 500}, 2), noise({500}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, ComputesBatchesAndProductsOfProducts) {
  expect_same([](const Tensor& a, const Tensor& b) { return matmul(a, b); },
              {noise({3, 20, 50}), noise({3, 50, 40}, 2)}, 1e-4);
  expect_same([](const Tensor& x, const Tensor& a,
                 const Tensor& b) { return softmax(linear(relu(linear(x, a)), b), -1); },
              {noise({30, 48}), noise({100, 48}, 2), noise({24, 100}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, ReadsRowsOfATable) {
  expect_same([](const Tensor& ids, const Tensor& table) { return embedding(ids, table) * 3; },
              {numbers({4, 0, 9, 4}), noise({10, 1500})});
}

TEST_P(EmulatedDevice, MovesTensorsAsTheyAre) {
  expect_same(
      [](const Tensor& a, const Tensor& b) {
        return cat({a, b * 2}, 1);
      },
      {noise({5, 3, 8}), noise({5, 4, 8}, 2)});
  expect_same([](const Tensor& a) { return a.permute({1, 0}) + 1; }, {noise({150, 90})});
  expect_same(
      [](const Tensor& a) {
        return (a.permute({2, 0, 1}) + 1).permute({0, 2, 1});
      },
      {noise({6, 50, 70})});
}

TEST_P(EmulatedDevice, WritesACacheInPlace) {
  auto run = [&](const Device& device) {
    Tensor cache = noise({2, 9, 4}, 5) * 0;
    Compiled step = compile(
        [cache](const Tensor& at, const Tensor& rows) {
          Tensor target = cache;
          target.index_copy_(1, at, rows * 2);
          return sum(target, {1});
        },
        {.device = device});
    std::vector<Tensor> results;
    for (std::int64_t i : {3, 0, 7}) results.push_back(step(numbers({i, i + 1}), noise({2, 2, 4})));
    return cat({results[0], results[1], results[2], sum(cache, {1})}, 0);
  };
  expect_near(run(Device::emulated(GetParam())), run(Device::cpu()), 1e-6);
}

TEST_P(EmulatedDevice, ReadsMemoryThatBeginsAnywhere) {
  Tensor x = noise({1025});
  auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  expect_same(add, {x.slice(0, 1, 1025), x.slice(0, 0, 1024)});
  Compiled fast = compile(add, {.device = Device::emulated(GetParam())});
  Tensor low = x.slice(0, 0, 1024), high = x.slice(0, 1, 1025);
  expect_near(fast(low, low), low + low, 1e-6);
  expect_near(fast(low, high), low + high, 1e-6);
  EXPECT_EQ(fast.report().size(), 2u);
  EXPECT_EQ(fast.report()[0].signature, "f32 1024 aligned, f32 1024 aligned");
  EXPECT_EQ(fast.report()[1].signature, "f32 1024 aligned, f32 1024");
  expect_contains(fast.dump(), "%p1: ptr<f32> align 4");
  Compiled any = compile(add, {.device = Device::emulated(GetParam())});
  any(high, high);
  expect_near(any(low, low), low + low, 1e-6);
  EXPECT_EQ(any.report().size(), 1u);
}

TEST_P(EmulatedDevice, KeepsItsProgramsInEveryMode) {
  auto f = [](const Tensor& x) { return softmax(x * 2, -1); };
  for (Mode mode : {Mode::reduce_overhead, Mode::max_autotune}) {
    Compiled fast = compile(f, {.mode = mode, .device = Device::emulated(GetParam())});
    for (std::uint32_t seed : {1, 2}) {
      Tensor x = noise({6, 40}, seed);
      expect_near(fast(x), f(x), 1e-5);
    }
  }
}

}  // namespace
}  // namespace tilewright::emulated_device_test
