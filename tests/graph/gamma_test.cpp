// The gamma function's logarithm and derivatives against the standard library's, and identities.
#include "graph/functions/pointwise/gamma.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/function_values.h"

namespace tilewright::gamma_test {
namespace {

using namespace testing_values;
using ::testing::HasSubstr;
using Number = long double;

template <typename T>
class Gamma : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Gamma, Types);

TYPED_TEST(Gamma, LogarithmIsTheLibrarys) {
  std::vector<TypeParam> x = arguments<TypeParam>(TypeParam(1e-6), TypeParam(1e6));
  for (TypeParam each = TypeParam(-20.3); each < 30; each += TypeParam(0.137)) x.push_back(each);
  auto known = [](Number t) { return std::lgamma(t); };
  const bool is_float = sizeof(TypeParam) == 4;
  expect_unary<TypeParam>([](const Tensor& t) { return lgamma(t); }, known,
                          {is_float ? 2.0 : 64.0, is_float ? 1e-13 : 2e-13}, x);
}

// By the recurrence up to 1000, where few terms of the series are enough.
Number psi(Number x) {
  if (std::isnan(x) || (x <= 0 && x == std::floor(x))) return none<Number>;
  Number sum = 0;
  for (; x < 1000; ++x) sum -= 1 / x;
  return sum + std::log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x);
}

TYPED_TEST(Gamma, DerivativeIsASum) {
  std::vector<TypeParam> x;
  for (TypeParam each = TypeParam(-9.31); each < 40; each += TypeParam(0.171)) x.push_back(each);
  x.insert(x.end(), {-1, -7, none<TypeParam>});
  const bool is_float = sizeof(TypeParam) == 4;
  expect_unary<TypeParam>([](const Tensor& t) { return digamma(t); }, psi,
                          {is_float ? 2.0 : 256.0, is_float ? 1e-12 : 1e-13}, x);
  const std::vector<float> at_zero = digamma(full({1}, 0.0)).template to_vector<float>();
  EXPECT_EQ(at_zero[0], -infinity<float>);
}

// The sum of (q + k)^-s: as many terms as matter, and an integral for the others.
Number zeta(Number s, Number q) {
  Number sum = 0;
  int k = 0;
  for (; k < 20'000; ++k) sum += std::pow(q + k, -s);
  const Number a = q + k;
  return sum + std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) / 2;
}

TYPED_TEST(Gamma, HigherDerivativesAreSums) {
  std::vector<TypeParam> x;
  for (TypeParam each = TypeParam(-6.31); each < 20; each += TypeParam(0.71)) x.push_back(each);
  const bool is_float = sizeof(TypeParam) == 4;
  for (int n : {1, 2, 5}) {
    const Number factor = std::tgamma(Number(n + 1)) * (n % 2 == 0 ? -1 : 1);
    expect_unary<TypeParam>([n](const Tensor& t) { return polygamma(n, t); },
                            [&](Number t) { return factor * zeta(n + 1, t); },
                            {is_float ? 2.0 : 1024.0, is_float ? 1e-10 : 1e-11}, x);
  }
  EXPECT_THAT(error_of([] { polygamma(-1, ones({2})); }),
              HasSubstr("[polygamma] the order is -1; it must be from 0 to 150"));
}

TEST(HurwitzZeta, IsInfiniteOrNoneWhereItHasNoValue) {
  Tensor s = Tensor::from(std::vector<float>{1, 0.5, 3, 2.5, 2.5, 2}, {6});
  Tensor q = Tensor::from(std::vector<float>{2, 2, -2, -1.5, 1, 1}, {6});
  const std::vector<float> got = hurwitz_zeta(s, q).to_vector<float>();
  EXPECT_EQ(got[0], infinity<float>);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], infinity<float>);
  EXPECT_TRUE(std::isnan(got[3]));
  EXPECT_FLOAT_EQ(got[4], static_cast<float>(std::riemann_zeta(2.5L)));
  EXPECT_FLOAT_EQ(got[5], static_cast<float>(std::riemann_zeta(2.0L)));
}

}  // namespace
}  // namespace tilewright::gamma_test
