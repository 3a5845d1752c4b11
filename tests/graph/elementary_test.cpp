// Elementary functions against the C library's in long double, eager and compiled.
#include "graph/functions/pointwise/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/errors.h"
#include "tests/graph/function_values.h"

namespace tilewright::elementary_test {
namespace {

using namespace testing_values;
using Integers = std::vector<std::int64_t>;
using Number = long double;

template <typename T>
class Elementary : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Elementary, Floats);

#define TILEWRIGHT_LIKE_C(name, units, ...)                                    \
  expect_unary<TypeParam>([](const Tensor& x) { return name(x); },             \
                          [](Number x) { return std::name(x); }, Bound{units}, \
                          arguments<TypeParam>(__VA_ARGS__))

TYPED_TEST(Elementary, AnglesAreThoseOfC) {
  TILEWRIGHT_LIKE_C(tan, 6);
  TILEWRIGHT_LIKE_C(asin, 4);
  TILEWRIGHT_LIKE_C(acos, 4);
  TILEWRIGHT_LIKE_C(atan, 4);
  expect_binary<TypeParam>([](const Tensor& y, const Tensor& x) { return atan2(y, x); },
                           [](Number y, Number x) { return std::atan2(y, x); }, {4},
                           arguments<TypeParam>());
}

TYPED_TEST(Elementary, HyperbolicFunctionsAreThoseOfC) {
  TILEWRIGHT_LIKE_C(sinh, 8);
  TILEWRIGHT_LIKE_C(cosh, 6);
  TILEWRIGHT_LIKE_C(asinh, 6);
  TILEWRIGHT_LIKE_C(acosh, 6);
  TILEWRIGHT_LIKE_C(atanh, 6);
}

// From 2^28 on its square and 1 more are one number: to the last bit it is the logarithm of 2 x.
TEST(ElementaryOfDoubles, AsinhIsALogarithmFromWhereASquareLosesOne) {
  const Tensor x = column(std::vector<double>{0x1p28, 0x1.8p28, 0x1p600});
  EXPECT_EQ(asinh(x).to_vector<double>(), (log(x) + std::numbers::ln2).to_vector<double>());
}

TYPED_TEST(Elementary, ZerosKeepTheirSigns) {
  const TypeParam zero = -TypeParam(0);
  Tensor x = column(std::vector<TypeParam>{zero, zero});
  for (const auto& function : {tan, asin, atan, sinh, asinh, atanh})
    EXPECT_TRUE(std::signbit(function(x).template to_vector<TypeParam>()[1]));
  EXPECT_TRUE(std::signbit(atan2(x, 1).template to_vector<TypeParam>()[0]));
  EXPECT_EQ(atan2(x, x).template to_vector<TypeParam>()[0],
            -static_cast<TypeParam>(std::numbers::pi));
}

TYPED_TEST(Elementary, LogarithmsAndLengthsAreThoseOfC) {
  TILEWRIGHT_LIKE_C(log10, 3);
  expect_binary<TypeParam>([](const Tensor& x, const Tensor& y) { return hypot(x, y); },
                           [](Number x, Number y) { return std::hypot(x, y); }, {4},
                           arguments<TypeParam>());
  Tensor powers = column(std::vector<TypeParam>{1, 10, 100, 1000, 1e6, 1e9});
  EXPECT_EQ(log10(powers).template to_vector<TypeParam>(),
            (std::vector<TypeParam>{0, 1, 2, 3, 6, 9}));
}

TYPED_TEST(Elementary, SumsOfPowersDoNotOverflow) {
  auto sum = [](Number a, Number b) {
    if (a == b) return a + std::numbers::ln2_v<Number>;
    return std::fmax(a, b) + std::log1p(std::exp(-std::abs(a - b))) + 0 * (a + b);
  };
  auto infinite = [](Number a, Number b) { return std::isinf(a) || std::isinf(b); };
  auto wanted = [&](Number a, Number b) {
    return infinite(a, b) && !std::isnan(a + b * 0 + (b - b) * 0) && a == b ? a
           : infinite(a, b) && !std::isnan(a) && !std::isnan(b)             ? std::fmax(a, b)
                                                                            : sum(a, b);
  };
  const double step = std::numeric_limits<TypeParam>::epsilon();
  expect_binary<TypeParam>([](const Tensor& a, const Tensor& b) { return logaddexp(a, b); }, wanted,
                           {4, 2 * step}, arguments<TypeParam>());
  expect_binary<TypeParam>([](const Tensor& a, const Tensor& b) { return logaddexp2(a, b); },
                           [&](Number a, Number b) {
                             Number scale = std::numbers::ln2_v<Number>;
                             return wanted(a * scale, b * scale) / scale;
                           },
                           {4, 4 * step}, arguments<TypeParam>());
}

TYPED_TEST(Elementary, PowersAreThoseOfC) {
  std::vector<TypeParam> x = arguments<TypeParam>(TypeParam(1e-6), TypeParam(1e6));
  for (TypeParam more : {0.5, 1.5, 2.5, 7.0, -7.0, 101.0, -33.0}) x.push_back(more);
  Bound bound = std::is_same_v<TypeParam, float> ? Bound{1} : Bound{2048};
  expect_binary<TypeParam>([](const Tensor& a, const Tensor& b) { return pow(a, b); },
                           [](Number a, Number b) { return std::pow(a, b); }, bound, x);
  // A logarithm in f64 is rounded to 2^-53 of itself, by which that of the result is multiplied.
  auto bound_of = [](double exponent) {
    bool by_products = std::abs(exponent) <= 2 || exponent == 3 || exponent == 4;
    bool is_whole = exponent == std::round(exponent);
    return std::is_same_v<TypeParam, double> && !(by_products && is_whole) ? Bound{128} : Bound{4};
  };
  for (double exponent : {0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 4.0, 5.0, -3.0, 6.0, 2.5, -0.25,
                          infinity<double>, -infinity<double>, none<double>}) {
    SCOPED_TRACE(exponent);
    expect_unary<TypeParam>([&](const Tensor& a) { return pow(a, exponent); },
                            [&](Number a) { return std::pow(a, exponent); }, bound_of(exponent), x);
  }
  for (double exponent : {0.5, -0.5})
    expect_unary<TypeParam>(
        [&](const Tensor& a) { return pow(a, exponent); },
        [&](Number a) { return exponent > 0 ? std::sqrt(a) : 1 / std::sqrt(a); }, {4}, x);
  expect_unary<TypeParam>([&](const Tensor& a) { return pow(2.0, a); },
                          [&](Number a) { return std::pow(2.0L, a); }, {4}, x);
}

TEST(Power, OfIntegersIsExactModuloTheirWidth) {
  Tensor base = Tensor::from<std::int64_t>({3, -3, 0, 1, -1, -1, 2, 7, 2}, {9});
  Tensor exponent = Tensor::from<std::int64_t>({39, 3, 0, -5, -5, -4, -1, 100, 63}, {9});
  auto function = [](const Tensor& a, const Tensor& b) { return pow(a, b); };
  std::uint64_t wrapped = 1;
  for (int i = 0; i < 100; ++i) wrapped *= 7;
  const Integers wanted = {
      4052555153018976267, -27, 1, 1, -1, 1, 0, static_cast<std::int64_t>(wrapped), INT64_MIN};
  EXPECT_EQ(function(base, exponent).to_vector<std::int64_t>(), wanted);
  EXPECT_EQ(compile(function)(base, exponent).to_vector<std::int64_t>(), wanted);
  EXPECT_EQ(pow(base.slice(0, 0, 3), 3).to_vector<std::int64_t>(), (Integers{27, -27, 0}));
  EXPECT_EQ(pow(2, Tensor::from<std::int64_t>({0, 5, 62}, {3})).to_vector<std::int64_t>(),
            (Integers{1, 32, std::int64_t{1} << 62}));
  EXPECT_EQ(pow(base, 0.5).dtype(), f32);
  Tensor bytes = Tensor::from<std::uint8_t>({3, 16, 255}, {3});
  EXPECT_EQ(pow(bytes, bytes).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{27, 0, 255}));
}

TEST(Power, RefusesNegativeNumbersForIntegersAndBool) {
  Tensor x = Tensor::from<std::int64_t>({1, 2}, {2});
  expect_contains(error_of([&] { pow(x, -2); }), "[pow] the exponent of integers is the number -2");
  expect_contains(error_of([&] { pow(x == 1, x == 2); }), "[pow] base and exponent are bool");
  EXPECT_EQ(pow(x == 1, 2).dtype(), i64);
}

TEST(Power, IsRoundedOnceFrom16Bits) {
  Tensor x = Tensor::from<float>({1.5F, -2.25F, 3, 0.1F}, {4}).to(bf16);
  EXPECT_EQ(pow(x, 3).to(f32).to_vector<float>(),
            pow(x.to(f32), 3).to(bf16).to(f32).to_vector<float>());
  EXPECT_EQ(float_power(x, 2).dtype(), f64);
  EXPECT_EQ(float_power(Tensor::scalar<std::int64_t>(-3), 3).item<double>(), -27);
}

TEST(Power, OfTwoScales) {
  Tensor x = Tensor::from<float>({1.5F, -3, 0.25F, 1}, {4});
  Tensor n = Tensor::from<std::int32_t>({3, -1, 0, 200}, {4});
  EXPECT_EQ(ldexp(x, n).to_vector<float>(),
            (std::vector<float>{12, -1.5F, 0.25F, infinity<float>}));
  EXPECT_EQ(ldexp(x, 1).to_vector<float>()[0], 3);
}

// From PyTorch 2.15.
TEST(Power, OfTwoScalesWhereThePowerAloneIsOutOfRange) {
  Tensor x = Tensor::from<float>({0.22F, 1e38F, 1e-40F, 1}, {4});
  Tensor n = Tensor::from<std::int64_t>({130, -160, 140, -149}, {4});
  EXPECT_EQ(ldexp(x, n).to_vector<float>(),
            (std::vector<float>{2.9944848126783308e+38F, 6.842277439078615e-11F, 139.37890625F,
                                1.401298464324817e-45F}));
  Tensor wide = Tensor::from<double>({1, 1e-300, 1.9999}, {3});
  Tensor far = Tensor::from<std::int64_t>({128, 1200, -1074}, {3});
  EXPECT_EQ(ldexp(wide, far).to_vector<double>(),
            (std::vector<double>{3.402823669209385e+38, 1.721847945638575e+61, 0x1p-1073}));
  Tensor small = Tensor::from<float>({0x1p-10F, 2}, {2});
  Tensor steps = Tensor::from<std::int64_t>({20, -25}, {2});
  for (DType dtype : {f16, bf16}) {
    Tensor y = ldexp(small.to(dtype), steps);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.to(f32).to_vector<float>(), (std::vector<float>{1024, 0x1p-24F}));
  }
}

TYPED_TEST(Elementary, DegreesAreTurnedAndSincFalls) {
  expect_unary<TypeParam>([](const Tensor& x) { return rad2deg(deg2rad(x)); },
                          [](Number x) { return x; }, {4}, arguments<TypeParam>());
  const double step = std::numeric_limits<TypeParam>::epsilon();
  auto sine = [](Number x) {
    Number angle = x * std::numbers::pi_v<Number>;
    return x == 0 ? 1 : std::sin(angle) / angle;
  };
  expect_unary<TypeParam>([](const Tensor& x) { return sinc(x); }, sine, {8, 2 * step},
                          arguments<TypeParam>(TypeParam(1e-20), 4));
}

TYPED_TEST(Elementary, XlogyIsZeroWhereXIs) {
  expect_binary<TypeParam>(
      [](const Tensor& x, const Tensor& y) { return xlogy(x, y); },
      [](Number x, Number y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }, {4},
      arguments<TypeParam>(TypeParam(1e-8), TypeParam(1e8)));
}

TYPED_TEST(Elementary, LogitKeepsTheDigitsAroundAHalf) {
  auto wanted = [](Number p) {
    return std::abs(p - 0.5L) < 0.25L ? std::log1p((2 * p - 1) / (1 - p)) : std::log(p / (1 - p));
  };
  expect_unary<TypeParam>([](const Tensor& x) { return logit(x); }, wanted, {6},
                          arguments<TypeParam>());
  const auto eps = static_cast<double>(static_cast<TypeParam>(0.125));
  expect_unary<TypeParam>(
      [&](const Tensor& x) { return logit(x, eps); },
      [&](Number p) { return std::isnan(p) ? p : wanted(std::clamp<Number>(p, eps, 1 - eps)); },
      {6}, arguments<TypeParam>());
}

TEST(ElementaryFunctions, TakeIntegersAsF32AndEmptyTensors) {
  EXPECT_EQ(tan(Tensor::from<std::int64_t>({0, 1}, {2})).dtype(), f32);
  EXPECT_EQ(atan2(Tensor::scalar<std::int32_t>(1), 1).item<float>(),
            static_cast<float>(std::numbers::pi / 4));
  EXPECT_EQ(hypot(zeros({0, 3}), ones({3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(acosh(zeros({0}, DType::boolean)).dtype(), f32);
}

TEST(Power, HasTheDtypeOfTheBaseWhereThatIsAsked) {
  const Tensor x = Tensor::from(std::vector<std::int64_t>{3, -2, 10}, {3});
  EXPECT_EQ(pow_in_base_dtype(x, 3.0).to_vector<std::int64_t>(), (Integers{27, -8, 1000}));
  EXPECT_EQ(pow_in_base_dtype(x, full({}, 3.0)).to_vector<std::int64_t>(),
            (Integers{27, -8, 1000}));
  // Cut off, and exact where f64 would not be.
  EXPECT_EQ(pow_in_base_dtype(x.slice(0, 0, 1), 0.5).to_vector<std::int64_t>(), (Integers{1}));
  EXPECT_EQ(pow_in_base_dtype(x.slice(0, 0, 1), full({}, 39.0)).to_vector<std::int64_t>(),
            (Integers{4052555153018976267}));
  EXPECT_EQ(pow_in_base_dtype(x, full({}, std::int64_t{2}, i64)).to_vector<std::int64_t>(),
            (Integers{9, 4, 100}));
  const Tensor y = pow_in_base_dtype(full({2}, 3.0).to(f16), full({2}, 2.0));
  EXPECT_EQ(y.dtype(), f16);
  EXPECT_EQ(y.to(f32).to_vector<float>(), (std::vector<float>{9, 9}));
}

}  // namespace
}  // namespace tilewright::elementary_test
