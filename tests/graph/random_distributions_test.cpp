// The distributions of random tensors: shapes, bounds, means and shares.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "graph/compile/compile.h"
#include "graph/functions/random/random.h"

namespace tilewright::random_distributions_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

// The greatest distance between the shares of the elements and the distribution below each.
double distance_to(Floats x, const std::function<double(double)>& distribution) {
  std::ranges::sort(x);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double below = distribution(x[i]), count = static_cast<double>(x.size());
    most = std::max({most, std::abs(below - static_cast<double>(i) / count),
                     std::abs(below - static_cast<double>(i + 1) / count)});
  }
  return most;
}
// Which one sample in a thousand exceeds (Kolmogorov and Smirnov).
double most_distance(std::size_t count) { return 1.95 / std::sqrt(static_cast<double>(count)); }
double uniform_distribution(double x) { return std::clamp(x, 0.0, 1.0); }
double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(Random, DistributionsAreThoseOfTheirNames) {
  const Generator g(123);
  Floats uniform = rand({4096}, f32, g).to_vector<float>();
  EXPECT_LT(distance_to(uniform, uniform_distribution), most_distance(4096));
  EXPECT_GE(std::ranges::min(uniform), 0);
  EXPECT_LT(std::ranges::max(uniform), 1);
  Floats normal = randn({4096}, f32, g).to_vector<float>();
  EXPECT_LT(distance_to(normal, normal_distribution), most_distance(4096));
  double mean = std::accumulate(normal.begin(), normal.end(), 0.0) / 4096, squares = 0;
  for (float x : normal) squares += x * x / 4096;
  EXPECT_NEAR(mean, 0, 5 / 64.0);
  EXPECT_NEAR(squares, 1, 5 * std::sqrt(2 / 4096.0));
  for (DType dtype : {f16, bf16, f64}) {
    Floats values = rand({2048}, dtype, g).to(f64).to(f32).to_vector<float>();
    EXPECT_LT(distance_to(values, uniform_distribution), most_distance(2048) + 0.005) << dtype;
    EXPECT_LT(std::ranges::max(rand({2048}, dtype, g).to(f64).to_vector<double>()), 1) << dtype;
    Floats spread = randn({2048}, dtype, g).to(f32).to_vector<float>();
    EXPECT_LT(distance_to(spread, normal_distribution), most_distance(2048) + 0.005) << dtype;
  }
}

TEST(Random, BoundsMeansAndProbabilitiesAreKept) {
  const Generator g(321);
  Integers dice = randint(1, 7, {3000}, i64, g).to_vector<std::int64_t>();
  for (std::int64_t face = 1; face <= 6; ++face)
    EXPECT_NEAR(static_cast<double>(std::ranges::count(dice, face)), 500, 5 * std::sqrt(417.0));
  EXPECT_EQ(std::ranges::min(dice), 1);
  EXPECT_EQ(std::ranges::max(dice), 6);
  const std::int64_t far = std::int64_t{1} << 50;
  for (std::int64_t x : randint(-far, far, {500}, i64, g).to_vector<std::int64_t>()) {
    EXPECT_GE(x, -far);
    EXPECT_LT(x, far);
  }
  Floats between = uniform({2048}, -2, 6, f32, g).to_vector<float>();
  EXPECT_LT(distance_to(between, [](double x) { return uniform_distribution((x + 2) / 8); }),
            most_distance(2048));
  Floats around = normal(5, 3, {2048}, f32, g).to_vector<float>();
  EXPECT_LT(distance_to(around, [](double x) { return normal_distribution((x - 5) / 3); }),
            most_distance(2048));
  Floats heads = bernoulli(full({4000}, 0.3, f32), g).to_vector<float>();
  EXPECT_NEAR(std::accumulate(heads.begin(), heads.end(), 0.0), 1200, 5 * std::sqrt(840.0));
  Tensor certain = Tensor::from(Floats{0, 1, 0, 1}, {4});
  EXPECT_EQ(bernoulli(certain, g).to_vector<float>(), certain.to_vector<float>());
}

// Equal states draw equal numbers below 1: none is below itself, and all are below the next float.
TEST(Random, BernoulliIsOneWhereTheNumberIsBelowTheProbability) {
  Floats drawn = rand({500}, f32, Generator(40)).to_vector<float>(), next = drawn;
  for (float& x : next) x = std::nextafter(x, 2.0F);
  EXPECT_EQ(bernoulli(Tensor::from(drawn, {500}), Generator(40)).to_vector<float>(),
            Floats(500, 0));
  EXPECT_EQ(bernoulli(Tensor::from(next, {500}), Generator(40)).to_vector<float>(), Floats(500, 1));
}

TEST(Random, DropoutKeepsItsShareAndScalesIt) {
  const Generator g(77);
  Tensor x = full({4000}, 3, f32).clone();
  auto [dropped, kept] = native_dropout(x, 0.2, true, g);
  Floats values = dropped.to_vector<float>();
  std::vector<bool> mask = kept.to_vector<bool>();
  std::int64_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], mask[i] ? 3.75F : 0.0F);
    count += mask[i];
  }
  EXPECT_NEAR(static_cast<double>(count), 3200, 5 * std::sqrt(640.0));
  EXPECT_EQ(dropout(x, 0, true, g).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(dropout(x, 1, true, g).to_vector<float>(), Floats(4000, 0));
  const std::uint64_t before = g.offset();
  EXPECT_EQ(dropout(x, 0.9, false, g).body(), x.body());
  EXPECT_EQ(g.offset(), before);
}

}  // namespace
}  // namespace tilewright::random_distributions_test
