// Random tensors: which numbers they are, that they are the same at once and compiled, and how they
// are distributed.
#include "graph/functions/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "graph/compile/compile.h"
#include "runtime/base/random/philox.h"
#include "tests/errors.h"
#include "tests/every_device.h"

namespace tilewright::random_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

// Triton's rand(seed, offset), written down from its definition.
float triton_rand(std::uint64_t seed, std::uint64_t offset) {
  auto word = static_cast<std::int32_t>(random_bits(seed, offset));
  if (word < 0) word = -word - 1;
  return static_cast<float>(word) * 4.6566127342e-10F;
}
double triton_randn(std::uint64_t seed, std::uint64_t offset) {
  auto unit = [](std::uint64_t bits) {
    auto word = static_cast<std::int32_t>(bits);
    return static_cast<double>(static_cast<float>(word < 0 ? -word - 1 : word) * 4.6566127342e-10F);
  };
  const std::uint64_t bits = random_bits(seed, offset);
  return std::sqrt(-2 * std::log(std::max(1e-7, unit(bits)))) *
         std::cos(6.283185307179586 * unit(bits >> 32));
}

TEST(Random, NumbersAreTritonsForTheSeedAndTheOffset) {
  Generator generator(0);
  EXPECT_EQ(rand({}, f32, generator).item<float>(), 0x6627e8d5 * 4.6566127342e-10F);
  const std::uint64_t seed = 0xfedcba9876543210;
  generator.manual_seed(seed);
  generator.set_offset(100);
  Floats uniform = rand({3, 5, 7}, f32, generator).to_vector<float>();
  for (std::size_t i = 0; i < uniform.size(); ++i)
    ASSERT_EQ(uniform[i], triton_rand(seed, 100 + i)) << i;
  EXPECT_EQ(generator.offset(), 205U);
  EXPECT_EQ(generator.initial_seed(), seed);
  Floats normal = randn({13, 9}, f32, generator).to_vector<float>();
  for (std::size_t i = 0; i < normal.size(); ++i)
    ASSERT_NEAR(normal[i], triton_randn(seed, 205 + i), 4e-6) << i;
  Integers integers = randint(-5, 12, {40}, i64, generator).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < integers.size(); ++i)
    ASSERT_EQ(integers[i], -5 + (random_bits(seed, 322 + i) & UINT32_MAX) % 17) << i;
}

TEST(Random, PlacesHave64Bits) {
  Generator generator(7);
  generator.set_offset(0xfffffffe);
  Floats uniform = rand({4}, f32, generator).to_vector<float>();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(uniform[i], triton_rand(7, 0xfffffffe + i));
  EXPECT_EQ(generator.offset(), 0x100000002U);
}

// All functions, each with numbers of its own.
std::vector<Tensor> draw_all(const Tensor& x, const Generator& g) {
  auto [dropped, kept] = native_dropout(x, 0.3, true, g);
  return {rand({6, 4}, f32, g),
          rand({5}, f16, g),
          rand({5}, f64, g),
          randn({3, 3}, bf16, g),
          randn({6, 2}, f32, g),
          randint(3, 9, {8}, i32, g),
          randint(-2, std::int64_t{1} << 40, {8}, i64, g),
          rand_like(x, {}, g),
          randn_like(x, {}, g),
          randint_like(x, 0, 5, {}, g),
          uniform({4}, -3, 8, f32, g),
          normal(2, 0.5, {4}, f32, g),
          normal(x, 0.25, g),
          bernoulli(sigmoid(x), g),
          dropout(x, 0.5, true, g),
          dropped,
          kept,
          randperm(20, i64, g)};
}
std::vector<Floats> values_of(const std::vector<Tensor>& tensors) {
  std::vector<Floats> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.to(f32).to_vector<float>());
  return values;
}

TEST(Random, TheSameAtOnceAndCompiledForEqualStates) {
  Tensor x = randn({4, 16}, f32, Generator(3));
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Generator eager(11), compiled(11);
    auto function = compile([&](const Tensor& t) { return draw_all(t, compiled); }, {.mode = mode});
    std::vector<std::vector<Floats>> calls;
    for (int call = 0; call < 3; ++call) {
      calls.push_back(values_of(draw_all(x, eager)));
      std::vector<Floats> got = values_of(function(x));
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].size(), calls.back()[i].size());
        for (std::size_t k = 0; k < got[i].size(); ++k)
          ASSERT_NEAR(got[i][k], calls.back()[i][k], 2e-6 * std::abs(got[i][k])) << i << ", " << k;
      }
      EXPECT_EQ(compiled.offset(), eager.offset());
    }
    EXPECT_NE(calls[0], calls[1]);
    EXPECT_NE(calls[1], calls[2]);
    compiled.manual_seed(11);
    EXPECT_EQ(values_of(function(x))[0], calls[0][0]);
    EXPECT_EQ(function.report().size(), 1U);
  }
}

TEST(Random, ASeedWithinACompiledFunctionCountsInEachCall) {
  Generator generator(1);
  auto function = compile([&](const Tensor& x) {
    generator.manual_seed(5);
    return x + rand({4}, f32, generator);
  });
  Tensor x = zeros({4}).clone();
  Floats first = function(x).to_vector<float>();
  EXPECT_EQ(function(x).to_vector<float>(), first);
  EXPECT_EQ(first[0], triton_rand(5, 0));
  EXPECT_EQ(generator.offset(), 4U);
}

TEST(Random, DropoutIsOneKernelWithWhatIsBesideIt) {
  Generator generator(2), other(2);
  auto layer = [](const Tensor& x, const Tensor& bias, const Generator& g) {
    return relu(dropout(x + bias, 0.25, true, g)) * 2.0;
  };
  auto fast = compile([&](const Tensor& x, const Tensor& b) { return layer(x, b, generator); });
  Tensor x = randn({64, 96}), bias = randn({96});
  EXPECT_EQ(fast(x, bias).to_vector<float>(), layer(x, bias, other).to_vector<float>());
  // The second one moves the generator on.
  EXPECT_LE(fast.report()[0].launches, 2);
}

TEST(Random, TwoDropoutsOfAFunctionDropDifferentElements) {
  Generator generator(9), other(9);
  auto both = [](const Tensor& x, const Generator& g) {
    return std::vector{dropout(x, 0.5, true, g), dropout(x, 0.5, true, g)};
  };
  Tensor x = ones({256}).clone();
  auto fast = compile([&](const Tensor& t) { return both(t, generator); });
  auto got = values_of(fast(x));
  EXPECT_NE(got[0], got[1]);
  EXPECT_EQ(got, values_of(both(x, other)));
}

TEST(Random, PermutationsHaveEachNumberOnce) {
  const Generator g(5);
  Integers first = randperm(300, i64, g).to_vector<std::int64_t>();
  Integers second = randperm(300, i32, g).to(i64).to_vector<std::int64_t>();
  EXPECT_NE(first, second);
  Integers all(300);
  std::iota(all.begin(), all.end(), 0);
  for (Integers each : {first, second}) {
    EXPECT_NE(each, all);
    std::ranges::sort(each);
    EXPECT_EQ(each, all);
  }
  EXPECT_EQ(randperm(0, i64, g).shape(), Shape{0});
}

TEST(Random, ThreadsDrawEachNumberOnceFromOneGenerator) {
  TILEWRIGHT_ON_THE_HOST_ONLY("threads that are worth the time");
  const Generator g(8);
  std::vector<Floats> drawn(4);
  std::vector<std::thread> threads;
  for (Floats& own : drawn)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) own.push_back(rand({}, f32, g).item<float>());
    });
  for (std::thread& thread : threads) thread.join();
  Floats all, expected;
  for (const Floats& own : drawn) all.insert(all.end(), own.begin(), own.end());
  for (std::uint64_t i = 0; i < 100; ++i) expected.push_back(triton_rand(8, i));
  std::ranges::sort(all);
  std::ranges::sort(expected);
  EXPECT_EQ(all, expected);
}

TEST(Random, WhatCannotBeDrawnIsRefused) {
  const Generator g(1);
  expect_contains(error_of([&] { rand({2, -1}, f32, g); }), "[rand] the shape is 2x-1");
  expect_contains(error_of([&] { rand({2}, i32, g); }), "[rand] the dtype is i32");
  expect_contains(error_of([&] { randn({2}, f8e4m3, g); }),
                  "it must be a float of 16 bits or more");
  expect_contains(error_of([&] { randint(3, 3, {2}, i64, g); }),
                  "[randint] integers from 3 below 3");
  expect_contains(error_of([&] { randint(INT64_MIN, INT64_MAX, {2}, i64, g); }),
                  "there must be at most 2^63 - 1 of them");
  expect_contains(error_of([&] { randint(0, 300, {2}, u8, g); }), "[randint] 299 does not fit u8");
  expect_contains(error_of([&] { uniform({2}, 3, 2, f32, g); }), "[uniform] from 3 below 2");
  expect_contains(error_of([&] { normal(0, -1, {2}, f32, g); }), "[normal] the deviation is -1");
  expect_contains(error_of([&] { dropout(ones({2}), 1.5, true, g); }),
                  "[dropout] the probability is 1.5");
  expect_contains(error_of([&] { dropout(arange(0, 4), 0.5, true, g); }),
                  "[dropout] the dtype is i64");
  expect_contains(error_of([&] { bernoulli(arange(0, 4), g); }), "[bernoulli] the dtype is i64");
  expect_contains(error_of([&] { randperm(-1, i64, g); }), "[randperm] -1 integers");
  expect_contains(error_of([&] { randperm(300, i8, g); }), "[randperm] 299 does not fit i8");
}

TEST(Random, TensorsMayBeEmptyAlongAnyAxis) {
  Generator g(0);
  for (const Shape& shape : {Shape{3, 0}, Shape{0, 3}, Shape{2, 0, 3}}) {
    const Tensor empty = zeros(shape);
    for (const Tensor& y :
         {randn(shape, f32, g), rand(shape, f32, g), randint(0, 5, shape, i64, g),
          rand_like(empty, {}, g), dropout(empty, 0.5, true, g), bernoulli(empty, g),
          compile([&](const Tensor& t) { return rand_like(t, {}, g) + t; })(empty)})
      EXPECT_EQ(y.shape(), shape);
  }
}

}  // namespace
}  // namespace tilewright::random_test
