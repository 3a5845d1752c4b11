// Stochastic rounding: to one of two neighbours, with the probabilities that keep the expectation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/random/random.h"
#include "tests/errors.h"

namespace tilewright::stochastic_rounding_test {
namespace {

std::vector<float> elements_of(const Tensor& x) { return x.to(f32).to_vector<float>(); }
Tensor repeated(float value, std::int64_t count) {
  return full({count}, static_cast<double>(value), f32).clone();
}

struct Point {
  float value;
  float below, above;  // its neighbours
};

// The share of 2^14 draws that round upwards is within 5 deviations of the expected one.
void expect_shares(const std::vector<Point>& points, DType dtype) {
  constexpr std::int64_t draws = 1 << 14;
  const Generator generator(7);
  auto round = compile([&](const Tensor& x) { return round_stochastically(x, dtype, generator); },
                       {.fullgraph = true});
  for (const Point& point : points) {
    SCOPED_TRACE(point.value);
    std::int64_t upwards = 0;
    for (float rounded : elements_of(round(repeated(point.value, draws)))) {
      ASSERT_TRUE(rounded == point.below || rounded == point.above) << rounded;
      upwards += rounded == point.above;
    }
    const double share = (static_cast<double>(point.value) - point.below) /
                         (static_cast<double>(point.above) - point.below);
    const double deviation = std::sqrt(share * (1 - share) / draws);
    EXPECT_NEAR(static_cast<double>(upwards) / draws, share, 5 * deviation + 1e-12);
  }
}

TEST(StochasticRounding, GoesToANeighbourByItsDistance) {
  expect_shares({{1.001F, 1.0F, 1.0078125F},
                 {-1.007F, -1.0078125F, -1.0F},
                 {0.99999F, 0.99609375F, 1.0F},
                 {1.99F, 1.984375F, 1.9921875F},
                 {-3.1415927F, -3.140625F - 0.015625F, -3.140625F},
                 {1e30F, 0x1.92p99F, 0x1.94p99F}},
                bf16);
  expect_shares({{1.0001F, 1.0F, 1.0009765625F},
                 {-0.99999F, -1.0F, -0.99951171875F},
                 {3e-8F, 0.0F, 5.9604644775390625e-8F},
                 {1e-7F, 5.9604644775390625e-8F, 1.1920928955078125e-7F},
                 {65503.0F, 65472.0F, 65504.0F}},
                f16);
}

TEST(StochasticRounding, KeepsWhatIsExactAndWhatIsNoNumber) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> exact = {0.0F,       -0.0F,    1.0F,      -2.5F,      0x1p-126F,
                                    -0x1p-127F, infinity, -infinity, 0x1.fep127F};
  const Tensor x = Tensor::from(exact, {std::ssize(exact)});
  for (int turn = 0; turn < 8; ++turn) EXPECT_EQ(elements_of(round_stochastically(x, bf16)), exact);
  const Tensor nan = full({64}, std::nan(""), f32).clone();
  for (float value : elements_of(round_stochastically(nan, bf16))) EXPECT_TRUE(std::isnan(value));
  // Beyond the greatest number by less than half a step: never infinite.
  for (float value : elements_of(round_stochastically(repeated(65510.0F, 4096), f16)))
    EXPECT_EQ(value, 65504.0F);
}

TEST(StochasticRounding, IsAFunctionOfSeedAndPlace) {
  const Tensor x = rand({1000}, f32, Generator(3));
  const Generator first(11), second(11), third(11);
  const Tensor once = round_stochastically(x, bf16, first);
  EXPECT_EQ(first.offset(), 1000U);
  EXPECT_EQ(elements_of(round_stochastically(x, bf16, second)), elements_of(once));
  auto compiled = compile([&](const Tensor& t) { return round_stochastically(t, bf16, third); });
  EXPECT_EQ(elements_of(compiled(x)), elements_of(once));
  EXPECT_NE(elements_of(compiled(x)), elements_of(once));
  const Tensor wide = x.to(f64);
  EXPECT_EQ(elements_of(round_stochastically(wide, bf16, Generator(11))), elements_of(once));
}

// A sum of many numbers that are too small for rounding to nearest.
TEST(StochasticRounding, SmallUpdatesAddUp) {
  const Generator generator(5);
  Tensor kept = ones({4096}, bf16).clone(), nearest = ones({4096}, bf16).clone();
  auto add = compile([&](const Tensor& update) {
    kept.copy_from(round_stochastically(kept.to(f32) + update, bf16, generator));
    nearest.copy_from((nearest.to(f32) + update).to(bf16));
    return mean(kept.to(f32));
  });
  double last = 0;
  for (int i = 0; i < 100; ++i) last = add(full({}, 1e-3, f32)).item<double>();
  EXPECT_NEAR(last, 1.1, 2e-3);
  EXPECT_EQ(mean(nearest.to(f32)).item<double>(), 1.0);
}

TEST(StochasticRounding, ItsDerivativeIsThatOfAConversion) {
  const Generator generator(5);
  auto f = [&](const Tensor& x) {
    return sum(round_stochastically(x, bf16, generator).to(f32) * 3.0);
  };
  const Tensor slope = grad(f)(rand({100}, f32, Generator(3)));
  EXPECT_EQ(slope.dtype(), f32);
  EXPECT_EQ(elements_of(slope), std::vector<float>(100, 3.0F));
}

TEST(StochasticRounding, TakesWideFloatsAndGivesFloatsOf16Bits) {
  expect_contains(error_of([] { round_stochastically(ones({2}, f32), f32); }),
                  "[round_stochastically] from f32 to f32 (at ");
  expect_contains(error_of([] { round_stochastically(ones({2}, bf16), f16); }),
                  "[round_stochastically] from bf16 to f16 (at ");
}

}  // namespace
}  // namespace tilewright::stochastic_rounding_test
