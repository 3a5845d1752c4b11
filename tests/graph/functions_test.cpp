// Functions whose formulas lose digits, infinities or NaN where they are written down plainly:
// eager and compiled against their values in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();
const float none = std::numeric_limits<float>::quiet_NaN();

// From both sides of 0 over all magnitudes, and what is no number.
Floats arguments() {
  Floats result = {0, -0.0F, infinity, -infinity, none};
  for (float x = 1e-38F; x < 1e38F; x *= 1.7F) result.insert(result.end(), {x, -x});
  return result;
}

void expect_close(float got, double wanted, float x, const char* how) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << how << " of " << x;
    return;
  }
  const auto rounded = static_cast<float>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) {
    EXPECT_EQ(got, rounded) << how << " of " << x;
    return;
  }
  constexpr double steps = 8 * 0x1p-24;
  EXPECT_LE(std::abs(got - wanted), steps * std::abs(wanted) + 1e-37) << how << " of " << x;
}

void expect_values(const std::function<Tensor(const Tensor&)>& function,
                   const std::function<double(double)>& wanted) {
  const Floats x = arguments();
  Tensor tensor = Tensor::from(x, {static_cast<std::int64_t>(x.size())});
  Floats eager = function(tensor).to_vector<float>();
  Floats compiled = compile(function)(tensor).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    expect_close(eager[i], wanted(x[i]), x[i], "eager");
    expect_close(compiled[i], wanted(x[i]), x[i], "compiled");
  }
}

TEST(Functions, TanhshrinkIsWhatTanhTakesAway) {
  Floats x = {-3, -0.5F, 0, 0.5F, 3, infinity, -infinity, none};
  Tensor tensor = Tensor::from(x, {8});
  auto function = [](const Tensor& t) { return tanhshrink(t); };
  for (const Tensor& y : {function(tensor), compile(function)(tensor)}) {
    Floats got = y.to_vector<float>();
    for (std::size_t i = 0; i < 7; ++i)
      EXPECT_NEAR(got[i], x[i] - std::tanh(x[i]), std::isinf(x[i]) ? 0 : 1e-6F) << x[i];
    EXPECT_TRUE(std::isnan(got[7]));
  }
}

TEST(Functions, Expm1KeepsTheDigitsOfSmallArguments) {
  expect_values([](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); });
  EXPECT_EQ(expm1(Tensor::scalar<std::int64_t>(0)).dtype(), f32);
}

TEST(Functions, Log1pKeepsTheDigitsOfSmallArguments) {
  expect_values([](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); });
  EXPECT_EQ(log1p(Tensor::scalar(-1.0F)).item<float>(), -infinity);
}

TEST(Functions, SoftplusIsLinearAboveItsThreshold) {
  expect_values([](const Tensor& x) { return softplus(x); },
                [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); });
  expect_values([](const Tensor& x) { return softplus(x, 2, 5); },
                [](double x) { return 2 * x > 5 ? x : std::log1p(std::exp(2 * x)) / 2; });
}

}  // namespace
}  // namespace tilewright
