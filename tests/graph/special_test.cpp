// The error integral and Bessel's function against the C library's in long double.
#include "graph/functions/pointwise/special.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/graph/function_values.h"

namespace tilewright::special_test {
namespace {

using namespace testing_values;
using Number = long double;

template <typename T>
class Special : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Special, Types);

TYPED_TEST(Special, ErfcKeepsItsDigits) {
  std::vector<TypeParam> x = arguments<TypeParam>();
  for (TypeParam more = 4; more < 30; more += TypeParam(0.173)) x.push_back(more);
  // GPUs may give 0 for numbers that are not normal.
  expect_unary<TypeParam>([](const Tensor& t) { return erfc(t); },
                          [](Number t) { return std::erfc(t); },
                          {8, double{std::numeric_limits<TypeParam>::min()}}, x);
}

// erfinv is found from erfc by bisection, in long double.
Number inverse(Number x) {
  if (std::isnan(x) || std::abs(x) > 1) return none<Number>;
  if (std::abs(x) == 1) return std::copysign(infinity<Number>, x);
  Number a = std::abs(x), low = 0, high = 8;
  for (int i = 0; i < 140; ++i) {
    Number middle = (low + high) / 2;
    bool is_below = a < 0.5L ? std::erf(middle) < a : std::erfc(middle) > 1 - a;
    (is_below ? low : high) = middle;
  }
  return std::copysign(low, x);
}

TYPED_TEST(Special, ErfinvIsTheInverse) {
  std::vector<TypeParam> x = arguments<TypeParam>(TypeParam(1e-7), 2);
  for (TypeParam left = TypeParam(0.3); left > std::numeric_limits<TypeParam>::epsilon(); left /= 3)
    x.insert(x.end(), {1 - left, left - 1});
  expect_unary<TypeParam>([](const Tensor& t) { return erfinv(t); }, inverse, {8}, x);
}

Number bessel(Number x) {
  if (std::isinf(x)) return infinity<Number>;
  Number sum = 1, term = 1;
  for (int k = 1; k < 2000; ++k) {
    term *= x / 2 / k * (x / 2 / k);
    sum += term;
  }
  return std::isnan(x) ? x : sum;
}

TYPED_TEST(Special, BesselsFunctionIsItsSeries) {
  std::vector<TypeParam> x = arguments<TypeParam>(TypeParam(1e-6), 80);
  for (TypeParam more : {7.9, 8.0, 8.1, 89.0, 90.5, 700.0, 712.0}) x.push_back(more);
  expect_unary<TypeParam>([](const Tensor& t) { return i0(t); }, bessel,
                          {std::is_same_v<TypeParam, float> ? 16.0 : 32.0}, x);
}

}  // namespace
}  // namespace tilewright::special_test
