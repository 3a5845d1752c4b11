// Attention on emulated GPUs computes the same as op by op on the host.
#include <gtest/gtest.h>

#include "dsl/launch/device.h"
#include "graph/compile/compile.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "tests/graph/emulated_device.h"
#include "tests/graph/noise.h"

namespace tilewright::emulated_attention_test {
namespace {

using namespace testing_emulated;

using testing_noise::noise;

TEST_P(EmulatedDevice, ComputesAttention) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, at_the_end);
  };
  expect_same(f, {noise({2, 4, 70, 16}), noise({2, 2, 70, 16}, 2), noise({2, 2, 70, 16}, 3)}, 1e-4);
  expect_same(f, {noise({1, 4, 1, 24}), noise({1, 2, 150, 24}, 2), noise({1, 2, 150, 24}, 3)},
              1e-4);
  auto from = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& position) {
    return scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  };
  expect_same(
      from,
      {noise({1, 2, 3, 16}), noise({1, 2, 200, 16}, 2), noise({1, 2, 200, 16}, 3), numbers({77})},
      1e-4);
}

// Enough rows that on Hopper two warpgroups share them, and with blocks of keys that all rows see,
// that some see, and that end beyond the keys.
TEST_P(EmulatedDevice, ComputesAttentionOfManyRowsOfNarrowTypes) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (auto [rows, keys, depth] : {std::array<std::int64_t, 3>{64, 330, 64},
                                     {128, 256, 128},
                                     {200, 200, 64},
                                     {200, 600, 64},
                                     {300, 520, 32},
                                     {700, 520, 32}}) {
      std::vector<Tensor> a = {noise({1, 2, rows, depth}).to(dtype),
                               noise({1, 1, keys, depth}, 2).to(dtype),
                               noise({1, 1, keys, depth}, 3).to(dtype)};
      for (const AttentionOptions& options : {AttentionOptions{}, {.causal = true}, at_the_end}) {
        SCOPED_TRACE(testing::Message() << dtype << " " << rows << " " << keys << options.causal);
        auto f = [=](const Tensor& q, const Tensor& k, const Tensor& v) {
          return scaled_dot_product_attention(q, k, v, options);
        };
        expect_same(f, a, 1e-2);
      }
    }
  std::vector<Tensor> a = {noise({2, 2, 160, 64}).to(DType::bf16),
                           noise({2, 1, 400, 64}, 2).to(DType::bf16),
                           noise({2, 1, 400, 64}, 3).to(DType::bf16)};
  auto from = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& position) {
    return scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  };
  for (std::int64_t position : {0, 7, 240})
    expect_same(from, {a[0], a[1], a[2], numbers({position})}, 1e-2);
  auto window = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    AttentionOptions options = at_the_end;
    options.window = 100;
    return scaled_dot_product_attention(q, k, v, options);
  };
  expect_same(window, a, 1e-2);
}

TEST_P(EmulatedDevice, ComputesAttentionToAWindowOfKeys) {
  for (std::int64_t window : {1, 40, 500}) {
    auto f = [window](const Tensor& q, const Tensor& k, const Tensor& v) {
      return scaled_dot_product_attention(
          q, k, v, {.causal = true, .window = window, .alignment = CausalAlignment::bottom_right});
    };
    expect_same(f, {noise({1, 4, 150, 16}), noise({1, 2, 150, 16}, 2), noise({1, 2, 150, 16}, 3)},
                1e-4);
    expect_same(f, {noise({1, 4, 1, 16}), noise({1, 2, 300, 16}, 2), noise({1, 2, 300, 16}, 3)},
                1e-4);
  }
}

// The first rows stand before the first key and see none: 0, whatever shape the program has.
TEST_P(EmulatedDevice, RowsThatSeeNoKeyAreZero) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, at_the_end);
  };
  expect_same(f, {noise({1, 4, 90, 16}), noise({1, 2, 20, 16}, 2), noise({1, 2, 20, 16}, 3)}, 1e-4);
}

TEST_P(EmulatedDevice, SharesTheKeysOfFewRowsAmongPrograms) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& position) {
    return scaled_dot_product_attention(q, k, v, {.causal = true, .position = position});
  };
  auto all = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v);
  };
  for (std::int64_t rows : {1, 3}) {
    std::vector<Tensor> a = {noise({2, 4, rows, 32}), noise({2, 2, 700, 32}, 2),
                             noise({2, 2, 700, 32}, 3)};
    expect_same(all, a, 1e-4);
    for (std::int64_t position : {0, 130, 696})  // some programs have no key that a row sees
      expect_same(f, {a[0], a[1], a[2], numbers({position})}, 1e-4);
    for (DType dtype : {DType::f16, DType::bf16})
      expect_same(all, {a[0].to(dtype), a[1].to(dtype), a[2].to(dtype)}, 1e-2);
  }
}

}  // namespace
}  // namespace tilewright::emulated_attention_test
