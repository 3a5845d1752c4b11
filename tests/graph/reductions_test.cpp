// Reductions made of others against loops in double, eager and compiled.
#include "graph/functions/reducing/reductions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/differences.h"
#include "tests/errors.h"

namespace tilewright::reductions_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();
const float none = std::numeric_limits<float>::quiet_NaN();

Floats waves(std::int64_t count) {
  Floats x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back(3 * std::sin(static_cast<float>(i * i % 97)) + (i % 5 == 0 ? 40.0F : 0.0F));
  x[3] = 0;
  return x;
}
Tensor box() { return Tensor::from(waves(60), {3, 4, 5}); }

using Reduction = std::function<Tensor(const Tensor&)>;
using Formula = std::function<double(const std::vector<double>&)>;

// Over axes 0 and 2 of box(), the result for each index of axis 1.
void expect_of_rows(const Reduction& function, const Formula& wanted) {
  const Floats all = waves(60);
  for (const Tensor& y : {function(box()), compile(function)(box())}) {
    Floats got = y.to_vector<float>();
    ASSERT_EQ(y.count(), 4);
    for (std::size_t column = 0; column < 4; ++column) {
      std::vector<double> part;
      for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t c = 0; c < 5; ++c) part.push_back(all[(a * 4 + column) * 5 + c]);
      EXPECT_NEAR(got[column], wanted(part), 2e-6 * std::abs(wanted(part)) + 1e-6);
    }
  }
}

double total(const std::vector<double>& x, const std::function<double(double)>& f) {
  double sum = 0;
  for (double value : x) sum += f(value);
  return sum;
}

TEST(Reductions, NormsAreOfAnyOrder) {
  for (double order : {1.0, 2.0, 3.0, 0.5, 2.5}) {
    SCOPED_TRACE(order);
    expect_of_rows(
        [&](const Tensor& x) {
          return linalg_vector_norm(x, order, {0, 2});
        },
        [&](const std::vector<double>& x) {
          return std::pow(total(x, [&](double v) { return std::pow(std::abs(v), order); }),
                          1 / order);
        });
  }
  auto magnitudes = [](const std::vector<double>& x) {
    std::vector<double> result;
    for (double value : x) result.push_back(std::abs(value));
    return result;
  };
  expect_of_rows(
      [](const Tensor& x) {
        return norm(x, infinity, {0, 2});
      },
      [&](const auto& x) { return std::ranges::max(magnitudes(x)); });
  expect_of_rows(
      [](const Tensor& x) {
        return norm(x, -infinity, {0, 2});
      },
      [&](const auto& x) { return std::ranges::min(magnitudes(x)); });
  expect_of_rows(
      [](const Tensor& x) {
        return norm(x, 0, {0, 2});
      },
      [](const auto& x) { return total(x, [](double v) { return v != 0; }); });
  EXPECT_EQ(norm(box()).shape(), Shape{});
  EXPECT_EQ(norm(box(), 2, {1}, true).shape(), (Shape{3, 1, 5}));
  EXPECT_EQ(norm(zeros({0})).item<float>(), 0);
  EXPECT_EQ(dist(Tensor::from(Floats{1, 5}, {2}), Tensor::from(Floats{4, 1}, {2})).item<float>(),
            5);
  expect_contains(error_of([] { norm(zeros({2}, i64)); }), "[norm] the operand is i64");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  expect_contains(error_of([] { norm(zeros({2, 0}), infinity, -1); }), "[norm] the operand is 2x0");
  EXPECT_EQ(norm(zeros({0, 2}), infinity, 1).shape(), Shape{0});
}

TEST(Reductions, NormsOf16BitsAreCarriedInF32) {
  Tensor x = full({1000}, 100, f16);
  EXPECT_NEAR(norm(x).to(f32).item<float>(), 3162.0F, 2);
  EXPECT_EQ(norm(x).dtype(), f16);
}

TEST(Reductions, ScalePartsToANorm) {
  Tensor x = Tensor::from(Floats{3, 4, 0, 0.5F, 6, 8}, {3, 2});
  auto function = [](const Tensor& t) { return renorm(t, 2, 0, 5); };
  for (const Tensor& y : {function(x), compile(function)(x)}) {
    Floats got = y.to_vector<float>();
    EXPECT_EQ(Floats(got.begin(), got.begin() + 4), (Floats{3, 4, 0, 0.5F}));
    EXPECT_NEAR(got[4], 3, 1e-6);
    EXPECT_NEAR(got[5], 4, 1e-6);
  }
  EXPECT_EQ(renorm(x, 1, -1, 0).to_vector<float>(), Floats(6));
  expect_contains(error_of([&] { renorm(x, 0, 0, 1); }), "[renorm] the order is 0");
  expect_contains(error_of([&] { renorm(ones({2}), 2, 0, 1); }), "[renorm] the operand is 2");
}

TEST(Differences, OfNeighbours) {
  Tensor x = Tensor::from(Floats{1, 4, 9, 16, 2, 2, 0, 1}, {2, 4});
  auto function = [](const Tensor& t) { return std::pair(diff(t), diff(t, 2)); };
  for (const auto& [once, twice] : {function(x), compile(function)(x)}) {
    EXPECT_EQ(once.to_vector<float>(), (Floats{3, 5, 7, 0, -2, 1}));
    EXPECT_EQ(twice.to_vector<float>(), (Floats{2, 2, -2, 3}));
  }
  EXPECT_EQ(diff(x, 1, 0).to_vector<float>(), (Floats{1, -2, -9, -15}));
  EXPECT_EQ(diff(x, 9).shape(), (Shape{2, 0}));
  EXPECT_EQ(diff(x, 0).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(diff(x > 3, 1, 0).to(i64).to_vector<std::int64_t>(), (Integers{0, 1, 1, 1}));
  expect_contains(error_of([&] { diff(x, -1); }), "[diff] the times are -1");
  expect_contains(error_of([] { diff(ones({})); }), "[diff] the operand has no axes");
}

TEST(Differences, MakeAreas) {
  Tensor y = Tensor::from(Floats{1, 3, 5, 0, 2, 2}, {2, 3}), x = Tensor::from(Floats{0, 1, 4}, {3});
  auto function = [&](const Tensor& t) { return std::pair(trapezoid(t, 0.5), trapezoid(t, x)); };
  for (const auto& [even, uneven] : {function(y), compile(function)(y)}) {
    EXPECT_EQ(even.to_vector<float>(), (Floats{3, 1.5F}));
    EXPECT_EQ(uneven.to_vector<float>(), (Floats{2 + 12, 1 + 6}));
  }
  EXPECT_EQ(trapezoid(y.to(i64), 1, 0).to_vector<float>(), (Floats{0.5F, 2.5F, 3.5F}));
  EXPECT_EQ(trapezoid(ones({2, 1})).to_vector<float>(), (Floats{0, 0}));
}

TEST(Reductions, LogsumexpDoesNotOverflow) {
  expect_of_rows(
      [](const Tensor& x) {
        return logsumexp(x, {0, 2});
      },
      [](const auto& x) { return std::log(total(x, [](double v) { return std::exp(v); })); });
  Tensor x = Tensor::from(Floats{1000, 1000, -infinity, -infinity, infinity, 1, none, 1}, {4, 2});
  auto function = [](const Tensor& t) { return logsumexp(t, {1}); };
  for (const Tensor& y : {function(x), compile(function)(x)}) {
    Floats got = y.to_vector<float>();
    EXPECT_FLOAT_EQ(got[0], 1000 + std::log(2.0F));
    EXPECT_EQ(got[1], -infinity);
    EXPECT_EQ(got[2], infinity);
    EXPECT_TRUE(std::isnan(got[3]));
  }
  EXPECT_EQ(logsumexp(x, {1}, true).shape(), (Shape{4, 1}));
  EXPECT_EQ(logsumexp(zeros({2, 0}), {1}).to_vector<float>(), (Floats{-infinity, -infinity}));
  EXPECT_EQ(logsumexp(zeros({2}, i64), {0}).item<float>(), std::log(2.0F));
  EXPECT_EQ(logsumexp(Tensor::scalar(3.0F), {0}).item<float>(), 3);
}

TEST(Reductions, LeaveOutNan) {
  Tensor x = Tensor::from(Floats{1, none, 3, none, none, none}, {2, 3});
  auto both = [](const Tensor& t) { return std::pair(nansum(t, {1}), nanmean(t, {1}, true)); };
  for (const auto& [sums, means] : {both(x), compile(both)(x)}) {
    EXPECT_EQ(sums.to_vector<float>(), (Floats{4, 0}));
    EXPECT_EQ(means.shape(), (Shape{2, 1}));
    EXPECT_EQ(means.to_vector<float>()[0], 2);
    EXPECT_TRUE(std::isnan(means.to_vector<float>()[1]));
  }
  EXPECT_EQ(nansum(Tensor::from(Integers{2, 3}, {2})).item<std::int64_t>(), 5);
  expect_contains(error_of([] { nanmean(zeros({2}, i64)); }), "[nanmean] the operand is i64");
}

TEST(Reductions, CountWhatIsNotZero) {
  Tensor x = Tensor::from(Floats{0, none, -0.0F, 2, 0, 0}, {2, 3});
  EXPECT_EQ(count_nonzero(x).item<std::int64_t>(), 2);
  EXPECT_EQ(count_nonzero(x, {1}).to_vector<std::int64_t>(), (Integers{1, 1}));
  EXPECT_EQ(count_nonzero(x == 0, {0}).to_vector<std::int64_t>(), (Integers{1, 1, 2}));
}

TEST(Reductions, GoBackThroughABroadcast) {
  Tensor x = ones({2, 3, 4});
  auto function = [](const Tensor& t) { return sum_to_size(t, {3, 1}); };
  for (const Tensor& y : {function(x), compile(function)(x)})
    EXPECT_EQ(y.to_vector<float>(), (Floats{8, 8, 8}));
  EXPECT_EQ(sum_to_size(x, {}).item<float>(), 24);
  EXPECT_EQ(sum_to_size(x, {2, 3, 4}).shape(), x.shape());
  expect_contains(error_of([&] { sum_to_size(x, {2, 1}); }), "[sum_to_size] a tensor of shape");
}

TEST(Reductions, OfAllElementsOrInADtype) {
  EXPECT_EQ(max(Tensor::from(Integers{3, 9, -2}, {3})).item<std::int64_t>(), 9);
  EXPECT_EQ(min(Tensor::from(Floats{3, none}, {2})).to(i64).item<std::int64_t>(), 0);
  Tensor halves = full({3000}, 1, f16);
  EXPECT_EQ(sum(halves, {}, false, f32).item<float>(), 3000);
  EXPECT_EQ(sum(halves, {}, false, i32).dtype(), i32);
  EXPECT_EQ(prod(Tensor::from(Integers{3, 7}, {2}), {}, false, f64).item<double>(), 21);
  EXPECT_EQ(mean(Tensor::from(Integers{3, 8}, {2}), {}, false, f32).item<float>(), 5.5F);
  expect_contains(error_of([] { mean(Tensor::from(Integers{3, 8}, {2})); }), "[mean]");
}

TEST(Reductions, CorrectVariancesByFractions) {
  expect_of_rows(
      [](const Tensor& x) {
        return var(x, {0, 2}, 1.5);
      },
      [](const auto& x) {
        double mean = total(x, [](double v) { return v; }) / 15;
        return total(x, [&](double v) { return (v - mean) * (v - mean); }) / 13.5;
      });
  auto [spread, middle] = var_mean(Tensor::from(Floats{1, 3}, {2}), {}, 2.5);
  EXPECT_EQ(spread.item<float>(), infinity);
  EXPECT_EQ(middle.item<float>(), 2);
}

TEST(Reductions, GiveTheStandardDeviationWithTheMean) {
  auto [spread, middle] = std_mean(Tensor::from(Floats{1, 3, 5}, {3}));
  EXPECT_EQ(spread.item<float>(), 2);
  EXPECT_EQ(middle.item<float>(), 3);
}

// From PyTorch 2.15. The variances are beyond the range of the dtype, their roots are not.
TEST(Reductions, TakeRootsOfVariancesBeforeTheyAreRounded) {
  const Tensor wide =
      Tensor::from(Floats{300, -200, 400, -500, 1e-4F, -2e-4F, 3e-4F, 5e-4F}, {2, 4});
  const Tensor huge =
      Tensor::from(Floats{1e20F, -2e20F, 3e20F, 0, 1e-24F, -2e-24F, 3e-24F, 0}, {2, 4});
  for (bool is_compiled : {false, true}) {
    auto deviations = [&](const Tensor& x) {
      auto function = [](const Tensor& t) { return std_mean(t, {1}).first; };
      return (is_compiled ? compile(function)(x) : function(x)).to(f64).to_vector<double>();
    };
    EXPECT_EQ(deviations(wide.to(f16)), (std::vector<double>{424.25, 0.0002987384796142578}));
    EXPECT_EQ(deviations(wide.to(bf16)), (std::vector<double>{424, 0.0002994537353515625}));
    const std::vector<double> got = deviations(huge);
    EXPECT_NEAR(got[0], 2.0816659583715613e20, 1e14);
    EXPECT_NEAR(got[1], 2.0816660754350628e-24, 1e-30);
  }
  EXPECT_NEAR(stddev(huge, {1}, 1.5).to_vector<float>()[0], 2.2803508e20F, 1e15F);
}

}  // namespace
}  // namespace tilewright::reductions_test
