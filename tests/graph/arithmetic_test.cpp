// Arithmetic, rounding, signs and tests against values by hand, eager and compiled.
#include "graph/functions/pointwise/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/errors.h"
#include "tests/graph/function_values.h"

namespace tilewright::arithmetic_test {
namespace {

using namespace testing_values;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Number = long double;

const Floats special = {0,           -0.0F, 1.5F, -1.5F, 2.5F, infinity<float>, -infinity<float>,
                        none<float>, 0.25F, -7,   1e30F};

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Bit for bit, signs of zeros too.
void expect_exact(const std::function<Tensor(const Tensor&)>& function,
                  const std::function<float(float)>& wanted) {
  Tensor x = column(special);
  for (const Tensor& y : {function(x), compile(function)(x)}) {
    Floats got = y.to(f32).to_vector<float>();
    for (std::size_t i = 0; i < special.size(); ++i)
      EXPECT_TRUE(same(got[i], wanted(special[i])))
          << "of " << special[i] << " is " << got[i] << ", not " << wanted(special[i]);
  }
}
void expect_exact(const std::function<Tensor(const Tensor&, const Tensor&)>& function,
                  const std::function<float(float, float)>& wanted) {
  Floats left, right;
  for (float a : special)
    for (float b : special) {
      left.push_back(a);
      right.push_back(b);
    }
  Tensor x = column(left), y = column(right);
  for (const Tensor& z : {function(x, y), compile(function)(x, y)}) {
    Floats got = z.to(f32).to_vector<float>();
    for (std::size_t i = 0; i < left.size(); ++i)
      EXPECT_TRUE(same(got[i], wanted(left[i], right[i])))
          << "of " << left[i] << " and " << right[i] << " is " << got[i] << ", not "
          << wanted(left[i], right[i]);
  }
}

Tensor numbers(const Integers& x) { return column(x); }

TEST(Arithmetic, RoundsTowardsZeroAndToDecimals) {
  expect_exact([](const Tensor& x) { return trunc(x); }, [](float x) { return std::trunc(x); });
  expect_exact([](const Tensor& x) { return frac(x); }, [](float x) { return x - std::trunc(x); });
  expect_exact([](const Tensor& x) { return round(x, 1); },
               [](float x) { return std::nearbyint(x * 10) / 10; });
  EXPECT_EQ(round(column(Floats{1234.5F, -1250, 49}), -2).to_vector<float>(),
            (Floats{1200, -1200, 0}));
  EXPECT_EQ(trunc(numbers({3, -4})).to_vector<std::int64_t>(), (Integers{3, -4}));
  expect_contains(error_of([] { round(numbers({3}), 1); }), "[round] the operands are i64");
}

// By the language's rule: towards zero, saturated, NaN gives 0. Also behind a whole vector.
TEST(Arithmetic, ConvertsFloatsToTheNearestIntegerThatThereIs) {
  const std::vector<double> given = {0,
                                     -0.9,
                                     7.9,
                                     -7.9,
                                     infinity<double>,
                                     -infinity<double>,
                                     none<double>,
                                     1e30,
                                     -1e30,
                                     2147483520,
                                     2147483648,
                                     -2147483648,
                                     -2147484160,
                                     9223371487098961920.0,
                                     9223372036854775808.0,
                                     -9223372036854775808.0,
                                     16777216,
                                     -3};
  constexpr std::int64_t most = INT64_MAX, least = INT64_MIN;
  const Integers as_long = {
      0,    0,     7,          -7,         most,        least,       0,
      most, least, 2147483520, 2147483648, -2147483648, -2147484160, 9223371487098961920,
      most, least, 16777216,   -3};
  std::vector<std::int32_t> as_int;
  for (std::int64_t x : as_long)
    as_int.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(x, INT32_MIN, INT32_MAX)));
  auto to_long = [](const Tensor& x) { return x.to(i64); };
  auto to_int = [](const Tensor& x) { return x.to(i32); };
  for (DType from : {f32, f64}) {
    const Tensor x = Tensor::from(given, {std::ssize(given)}).to(from);
    for (const Tensor& y : {to_long(x), compile(to_long)(x)})
      EXPECT_EQ(y.to_vector<std::int64_t>(), as_long) << from;
    for (const Tensor& y : {to_int(x), compile(to_int)(x)})
      EXPECT_EQ(y.to_vector<std::int32_t>(), as_int) << from;
  }
}

TEST(Arithmetic, SeesSignsAlsoOfZeros) {
  expect_exact([](const Tensor& x) { return sign(x); },
               [](float x) { return static_cast<float>((x > 0) - (x < 0)); });
  expect_exact([](const Tensor& x) { return signbit(x); },
               [](float x) { return static_cast<float>(std::signbit(x)); });
  expect_exact([](const Tensor& x, const Tensor& y) { return copysign(x, y); },
               [](float x, float y) { return std::copysign(x, y); });
  EXPECT_EQ(sgn(numbers({-5, 0, 7})).to_vector<std::int64_t>(), (Integers{-1, 0, 1}));
  EXPECT_EQ(sign(numbers({0, 7}) == 7).dtype(), DType::boolean);
  EXPECT_EQ(sign(numbers({0, 7}).to(u8)).to(i64).to_vector<std::int64_t>(), (Integers{0, 1}));
  EXPECT_EQ(signbit(numbers({-5, 7})).to(i64).to_vector<std::int64_t>(), (Integers{1, 0}));
  EXPECT_EQ(copysign(numbers({2}), numbers({-3})).item<float>(), -2);
}

TEST(Arithmetic, TellsWhatIsNoNumber) {
  expect_exact([](const Tensor& x) { return isnan(x); }, [](float x) { return std::isnan(x); });
  expect_exact([](const Tensor& x) { return isinf(x); }, [](float x) { return std::isinf(x); });
  expect_exact([](const Tensor& x) { return isfinite(x); },
               [](float x) { return std::isfinite(x); });
  expect_exact([](const Tensor& x) { return isposinf(x); },
               [](float x) { return std::isinf(x) && x > 0; });
  expect_exact([](const Tensor& x) { return isneginf(x); },
               [](float x) { return std::isinf(x) && x < 0; });
  Tensor whole = numbers({0, INT64_MAX});
  for (const Tensor& y : {isnan(whole), isinf(whole), isposinf(whole), isneginf(whole)})
    EXPECT_EQ(y.to(i64).to_vector<std::int64_t>(), (Integers{0, 0}));
  EXPECT_EQ(isfinite(whole).to(i64).to_vector<std::int64_t>(), (Integers{1, 1}));
}

TEST(Arithmetic, IsCloseWithinItsTolerances) {
  auto close = [](float a, float b) {
    return a == b ||
           (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= 0.5F + 0.25F * std::abs(b));
  };
  expect_exact([](const Tensor& x, const Tensor& y) { return isclose(x, y, {0.25, 0.5}); }, close);
  Tensor x = column(Floats{none<float>, 1});
  EXPECT_EQ(isclose(x, x, {.equal_nan = true}).to(i64).to_vector<std::int64_t>(), (Integers{1, 1}));
  EXPECT_EQ(isclose(x, x, {0, 0}).to(i64).to_vector<std::int64_t>(), (Integers{0, 1}));
  EXPECT_EQ(
      isclose(numbers({100, 100}), numbers({101, 103}), {0, 2}).to(i64).to_vector<std::int64_t>(),
      (Integers{1, 0}));
  expect_contains(error_of([&] { isclose(x, x, {-1, 0}); }), "[isclose] rtol is -1");
  expect_contains(error_of([&] { isclose(x, numbers({1, 2})); }), "are f32 and i64");
}

TEST(Arithmetic, TakesTheNumberOfANumberAndANan) {
  auto most = [](float a, float b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a < b ? b : a;
  };
  auto least = [](float a, float b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a;
  };
  expect_exact([](const Tensor& x, const Tensor& y) { return fmax(x, y); }, most);
  expect_exact([](const Tensor& x, const Tensor& y) { return fmin(x, y); }, least);
  EXPECT_EQ(fmax(numbers({1, 9}), 5).to_vector<std::int64_t>(), (Integers{5, 9}));
}

TEST(Arithmetic, StepsAtZero) {
  expect_exact([](const Tensor& x, const Tensor& y) { return heaviside(x, y); },
               [](float x, float y) { return x == 0  ? y
                                             : x > 0 ? 1.0F
                                                     : 0.0F; });
  expect_contains(error_of([] { heaviside(column(special), numbers({1})); }), "are f32 and i64");
}

TEST(Arithmetic, GoesToTheNextNumber) {
  expect_exact([](const Tensor& x, const Tensor& y) { return nextafter(x, y); },
               [](float x, float y) { return std::nextafter(x, y); });
  Floats x = arguments<float>(1e-44F, 3e38F), up;
  for (float power = 0x1p-149F; power < 0x1p127F; power *= 2) x.insert(x.end(), {power, -power});
  for (float& value : x) {
    if (std::isnan(value)) value = std::numeric_limits<float>::max();
    up.push_back(std::nextafter(value, infinity<float>));
  }
  Floats got = nextafter(column(x), infinity<double>).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], up[i]) << "of " << x[i];
  Tensor narrow = column(Floats{1, -1, 0, 0x1.fep127F, 0x1p-126F}).to(bf16);
  EXPECT_EQ(nextafter(narrow, infinity<double>).to(f32).to_vector<float>(),
            (Floats{1 + 0x1p-7F, -1 + 0x1p-8F, 0x1p-133F, infinity<float>, 0x1.02p-126F}));
  EXPECT_EQ(
      nextafter(column(Floats{1, 65504}).to(f16), infinity<double>).to(f32).to_vector<float>(),
      (Floats{1 + 0x1p-10F, infinity<float>}));
  // PyTorch 2.15 promotes.
  Tensor next = nextafter(column(Floats{1}).to(f16), column(Floats{2}));
  EXPECT_EQ(next.dtype(), f32);
  EXPECT_EQ(next.to_vector<float>(), (Floats{1.0000001192092896F}));
  expect_contains(error_of([] { nextafter(numbers({1}), 2); }), "[nextafter] the operands are i64");
}

TEST(Arithmetic, ReplacesWhatIsNoNumber) {
  const float most = std::numeric_limits<float>::max();
  expect_exact([](const Tensor& x) { return nan_to_num(x); },
               [&](float x) {
                 return std::isnan(x) ? 0 : std::isinf(x) ? std::copysign(most, x) : x;
               });
  expect_exact(
      [](const Tensor& x) {
        return nan_to_num(x, {1, 2.0, 3.0});
      },
      [&](float x) { return std::isnan(x)   ? 1
                            : std::isinf(x) ? (x > 0 ? 2.0F : 3.0F)
                                            : x; });
  EXPECT_EQ(nan_to_num(column(special).to(f16)).to(f32).to_vector<float>()[5], 65504);
  EXPECT_EQ(nan_to_num(column(special).to(bf16)).to(f32).to_vector<float>()[6], -0x1.fep127F);
}

TEST(Arithmetic, ClampsByTensorsToo) {
  Tensor x = numbers({-3, 0, 8});
  EXPECT_EQ(clamp_min(x, numbers({-5, 1, 9})).to_vector<std::int64_t>(), (Integers{-3, 1, 9}));
  EXPECT_EQ(clamp_max(x, 2).to_vector<std::int64_t>(), (Integers{-3, 0, 2}));
  EXPECT_EQ(clamp_max(x, 2.5).dtype(), f32);
}

TEST(Arithmetic, MixesLinearlyFromTheNearerEnd) {
  auto wanted = [](Number a, Number b) { return a + 0.25L * (b - a); };
  Floats x = {-2, 0, 1, 3.5F, 1e10F, infinity<float>, none<float>};
  expect_binary<float>([](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.25); }, wanted,
                       {1, 1e3}, x);
  Tensor a = column(Floats{0, 10}), b = column(Floats{10, 20}), w = column(Floats{1, 0.75F});
  EXPECT_EQ(lerp(a, b, w).to_vector<float>(), (Floats{10, 17.5F}));
  expect_contains(error_of([&] { lerp(numbers({1}), numbers({2}), 0.5); }), "must be floating");
}

TEST(Arithmetic, AddsProductsAndQuotients) {
  Tensor x = column(Floats{1, 2}), a = column(Floats{3, 4}), b = column(Floats{5, 8});
  EXPECT_EQ(add(x, a, 2).to_vector<float>(), (Floats{7, 10}));
  EXPECT_EQ(sub(x, a, 0.5).to_vector<float>(), (Floats{-0.5F, 0}));
  EXPECT_EQ(rsub(x, a, 2).to_vector<float>(), (Floats{1, 0}));
  EXPECT_EQ(rsub(x, 1).to_vector<float>(), (Floats{0, -1}));
  EXPECT_EQ(addcmul(x, a, b, 2).to_vector<float>(), (Floats{31, 66}));
  EXPECT_EQ(addcdiv(x, a, b, 0.5).to_vector<float>(), (Floats{1 + 1.5F / 5, 2.25F}));
  EXPECT_EQ(addcmul(numbers({1}), numbers({2}), numbers({3}), -1).item<std::int64_t>(), -5);
  EXPECT_EQ(true_divide(numbers({1}), 4).item<float>(), 0.25F);
  EXPECT_EQ(mul(x, a).to_vector<float>(), (Floats{3, 8}));
  expect_contains(error_of([] { add(numbers({1}), 2, 0.5); }), "[add] alpha is 0.5");
  expect_contains(error_of([] { addcdiv(numbers({1}), numbers({1}), numbers({1})); }),
                  "[addcdiv] the operands are i64");
  expect_contains(error_of([] { positive(numbers({1}) == 1); }), "[positive] the operand is bool");
  EXPECT_EQ(positive(numbers({3})).item<std::int64_t>(), 3);
}

TEST(Arithmetic, OfBitsAndTruth) {
  EXPECT_EQ(bitwise_not(numbers({0, -1, 5})).to_vector<std::int64_t>(), (Integers{-1, 0, -6}));
  EXPECT_EQ(bitwise_not(numbers({0, 1}).to(u8)).to(i64).to_vector<std::int64_t>(),
            (Integers{255, 254}));
  EXPECT_EQ(bitwise_not(numbers({0, 1}) == 1).to(i64).to_vector<std::int64_t>(), (Integers{1, 0}));
  EXPECT_EQ(bitwise_left_shift(numbers({1, -3}), 2).to_vector<std::int64_t>(), (Integers{4, -12}));
  EXPECT_EQ(bitwise_right_shift(numbers({9, -3}), 1).to_vector<std::int64_t>(), (Integers{4, -2}));
  Tensor x = column(Floats{0, 2, none<float>, -0.0F});
  EXPECT_EQ(logical_xor(x, numbers({1, 1, 0, 0})).to(i64).to_vector<std::int64_t>(),
            (Integers{1, 0, 1, 0}));
  EXPECT_EQ(logical_xor(x == x, false).to(i64).to_vector<std::int64_t>(), (Integers{1, 1, 0, 1}));
}

TEST(Arithmetic, FindsElementsAmongOthers) {
  Tensor x = Tensor::from(Integers{1, 2, 3, 4, 5, 6}, {2, 3}), values = numbers({2, 6, 9, 2});
  auto function = [](const Tensor& a, const Tensor& b) { return isin(a, b); };
  for (const Tensor& y : {function(x, values), compile(function)(x, values)}) {
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.to(i64).to_vector<std::int64_t>(), (Integers{0, 1, 0, 0, 0, 1}));
  }
  EXPECT_EQ(isin(x, 4, true).to(i64).to_vector<std::int64_t>(), (Integers{1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(isin(x, zeros({0}, i64)).to(i64).to_vector<std::int64_t>(), Integers(6));
  EXPECT_EQ(isin(9, values).item<bool>(), true);
  EXPECT_EQ(isin(Tensor::scalar(2.5F), values).shape(), Shape{});
}

TEST(Arithmetic, FindsCommonDivisorsAndMultiples) {
  Integers a = {12, -18, 0, 7, 0, 1836311903, 7540113804746346429, 100},
           b = {18, 12, 5, 0, 0, 1134903170, 4660046610375530309, -75};
  Integers divisors, multiples;
  for (std::size_t i = 0; i < a.size(); ++i) {
    divisors.push_back(std::gcd(a[i], b[i]));
    auto product = divisors[i] == 0 ? 0
                                    : static_cast<std::uint64_t>(a[i] / divisors[i]) *
                                          static_cast<std::uint64_t>(b[i]);
    multiples.push_back(std::abs(static_cast<std::int64_t>(product)));
  }
  auto both = [](const Tensor& x, const Tensor& y) { return std::pair(gcd(x, y), lcm(x, y)); };
  for (const auto& [divisor, multiple] :
       {both(column(a), column(b)), compile(both)(column(a), column(b))}) {
    EXPECT_EQ(divisor.to_vector<std::int64_t>(), divisors);
    EXPECT_EQ(multiple.to_vector<std::int64_t>(), multiples);
  }
  Tensor bytes = Tensor::from<std::uint8_t>({233, 144, 0}, {3});
  EXPECT_EQ(
      gcd(bytes, Tensor::from<std::uint8_t>({144, 96, 9}, {3})).to(i64).to_vector<std::int64_t>(),
      (Integers{1, 48, 9}));
  expect_contains(error_of([] { gcd(column(special), 2); }), "[gcd] the operands are f32");
}

// Numbers that 16 bits have not, which PyTorch's arithmetic has in f32.
TEST(Arithmetic, HasNumbersBeyondSixteenBits) {
  const Tensor x = Tensor::from(Floats{0, 1, 0.001F, -0.5F}, {4}).to(f16);
  auto function = [](const Tensor& t) -> std::vector<Tensor> {
    return {t * 1e6, -1e9 * t, t / 1e6, 1e-9 * t, (1.0 - t) * -1e9};
  };
  const float all = infinity<float>;
  const std::vector<Floats> wanted = {{0, all, 1000, -all},
                                      {0, -all, -all, all},
                                      {0, 1.0133e-06F, 0, -4.7684e-07F},
                                      {0, 0, 0, 0},
                                      {-all, 0, -all, -all}};
  for (const std::vector<Tensor>& got : {function(x), compile(function)(x)})
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        const float a = got[i].to(f32).to_vector<float>()[j], b = wanted[i][j];
        EXPECT_TRUE(a == b || std::abs(a - b) <= 1e-3F * std::abs(b)) << i << " " << j << ": " << a;
      }
  const Tensor large = Tensor::from(Floats{0, 1e-30F}, {2}).to(bf16);
  EXPECT_EQ((large * 3.4e38).to(f32).to_vector<float>()[0], 0);
  EXPECT_EQ((x * 2.0).dtype(), f16);
}

TEST(Arithmetic, HasTheMeanOfTensors) {
  const Tensor x = full({2}, 1.0).to(f16), y = full({2}, 4.0).to(f16);
  const Tensor mean = elementwise_mean({x, y, y});
  EXPECT_EQ(mean.dtype(), f16);
  EXPECT_EQ(mean.to(f32).to_vector<float>(), (std::vector<float>{3, 3}));
  expect_contains(error_of([] { elementwise_mean({}); }),
                  "[elementwise_mean] there are no operands");
}

}  // namespace
}  // namespace tilewright::arithmetic_test
