// Functions of complex tensors give what std::complex gives, element by element.
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/elementary.h"
#include "tests/graph/complex/complex_numbers.h"

namespace tilewright::complex_functions_test {
namespace {

using namespace testing_complex;

struct Pair {
  const char* name;
  ComplexTensor (*ours)(const ComplexTensor& z);
  Complex (*theirs)(const Complex& z);
};
const Pair pairs[] = {
    {"exp", exp, std::exp},
    {"exp2", exp2, [](const Complex& z) { return std::pow(Complex(2), z); }},
    {"expm1", expm1, [](const Complex& z) { return std::exp(z) - 1.0; }},
    {"log", log, std::log},
    {"log1p", log1p, [](const Complex& z) { return std::log(z + 1.0); }},
    {"log2", log2, [](const Complex& z) { return std::log(z) / std::numbers::ln2; }},
    {"log10", log10, std::log10},
    {"sqrt", sqrt, std::sqrt},
    {"rsqrt", rsqrt, [](const Complex& z) { return 1.0 / std::sqrt(z); }},
    {"sin", sin, std::sin},
    {"cos", cos, std::cos},
    {"tan", tan, std::tan},
    {"sinh", sinh, std::sinh},
    {"cosh", cosh, std::cosh},
    {"tanh", tanh, std::tanh},
    {"asin", asin, std::asin},
    {"acos", acos, std::acos},
    {"atan", atan, std::atan},
    {"asinh", asinh, std::asinh},
    {"acosh", acosh, std::acosh},
    {"atanh", atanh, std::atanh},
    {"sinc", sinc,
     [](const Complex& z) { return std::sin(std::numbers::pi * z) / (std::numbers::pi * z); }},
    {"sigmoid", sigmoid, [](const Complex& z) { return 1.0 / (1.0 + std::exp(-z)); }},
    {"silu", silu, [](const Complex& z) { return z / (1.0 + std::exp(-z)); }},
    {"reciprocal", reciprocal, [](const Complex& z) { return 1.0 / z; }},
    {"square", square, [](const Complex& z) { return z * z; }},
    {"conj", conj, std::conj},
    {"sgn", sgn, [](const Complex& z) { return z / std::abs(z); }},
};

Numbers mapped(const Numbers& numbers, Complex (*function)(const Complex&)) {
  Numbers results;
  for (const Complex& number : numbers) results.push_back(function(number));
  return results;
}

TEST(ComplexFunctions, AreThoseOfNumbers) {
  Dice dice(1);
  Numbers numbers = random_numbers(dice, 40);
  for (std::size_t i = 0; i < 20; ++i) numbers[i] *= 5;
  const ComplexTensor z = complex_of(numbers, {8, 5});
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.name);
    expect_near([&](const ComplexTensors& x) { return pair.ours(x[0]); }, {z}, {8, 5},
                mapped(numbers, pair.theirs), 1e-11);
    expect_near(pair.ours(z.to(f32)), {8, 5}, mapped(numbers, pair.theirs), 2e-5);
  }
}

// Along the axes, where cuts are: the sign of a zero says on which side of one a number lies.
TEST(ComplexFunctions, HaveTheCutsOfNumbers) {
  Numbers numbers;
  for (double at : {-3.0, -0.5, 0.5, 3.0})
    for (double zero : {0.0, -0.0}) numbers.insert(numbers.end(), {{at, zero}, {zero, at}});
  const ComplexTensor z = complex_of(numbers, {16});
  for (const Pair& pair : pairs) {
    const std::string name = pair.name;
    if (name.find("log") == std::string::npos && name.find("sqrt") == std::string::npos &&
        name[0] != 'a')
      continue;
    SCOPED_TRACE(name);
    expect_near(pair.ours(z), {16}, mapped(numbers, pair.theirs));
  }
}

// A part counts as equal where both are NaN; the signs of infinities are compared.
TEST(ComplexFunctions, OfInfinitiesAreThoseOfNumbers) {
  const double infinity = std::numeric_limits<double>::infinity();
  Numbers numbers;
  for (double real : {-infinity, -1.0, 0.0, 1.0, infinity})
    for (double imaginary : {-infinity, -1.0, 0.0, 1.0, infinity})
      if (std::isinf(real) || std::isinf(imaginary)) numbers.emplace_back(real, imaginary);
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (const Pair& pair : pairs) {
    const std::string name = pair.name;
    if (name != "log" && name != "sqrt" && name != "asin" && name != "acos" && name != "atanh")
      continue;
    const Numbers got = numbers_of(pair.ours(complex_of(numbers, {count})));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Complex wanted = pair.theirs(numbers[i]);
      auto is_same = [](double a, double b) {
        return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) < 1e-12;
      };
      EXPECT_TRUE(is_same(got[i].real(), wanted.real()) && is_same(got[i].imag(), wanted.imag()))
          << name << " of " << numbers[i] << ": " << got[i] << ", wanted " << wanted;
    }
  }
}

TEST(ComplexFunctions, DoNotOverflowBeforeTheirResultsDo) {
  const ComplexTensor z = complex_of({{3e30, 4e30}, {3e-30, -4e-30}}, {2}, f32);
  EXPECT_EQ(abs(z).to_vector<float>(), (std::vector<float>{5e30F, 5e-30F}));
  expect_near(z / z, {2}, {1, 1}, 1e-6);
  expect_near(sqrt(z), {2}, {std::sqrt(Complex(3e30, 4e30)), std::sqrt(Complex(3e-30, -4e-30))},
              1e-6);
  // exp(89) is beyond f32, its product with a small cosine is not.
  const float angle = 1.57F;
  const float wanted = static_cast<float>(std::exp(89.0) * std::cos(static_cast<double>(angle)));
  const float got = exp(complex_of({{89, angle}}, {1}, f32)).real().item<float>();
  EXPECT_NEAR(got / wanted, 1, 1e-4);
}

TEST(ComplexFunctions, PowersAreThoseOfNumbers) {
  Dice dice(2);
  const Numbers bases = random_numbers(dice, 6), exponents = random_numbers(dice, 6);
  Numbers wanted;
  for (std::size_t i = 0; i < bases.size(); ++i) wanted.push_back(std::pow(bases[i], exponents[i]));
  expect_near([](const ComplexTensors& x) { return pow(x[0], x[1]); },
              {complex_of(bases, {6}), complex_of(exponents, {6})}, {6}, wanted, 1e-11);
  const ComplexTensor z = complex_of(bases, {6});
  for (double exponent : {0.0, 0.5, 1.0, 2.0, 5.0, 16.0, -3.0, 1.5, 17.0}) {
    Numbers powers;
    for (const Complex& base : bases) powers.push_back(std::pow(base, exponent));
    expect_near(pow(z, exponent), {6}, powers, 1e-10);
  }
  expect_near(pow(complex_of({0, 0}, {2}), Complex(2, 1)), {2}, {0, 0});
}

TEST(ComplexFunctions, AnglesAndTestsAreThoseOfNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  const ComplexTensor z = complex_of({{0, 0}, {0, 2}, {-1, 0}, {nan, 1}, {1, infinity}}, {5});
  using Flags = std::vector<bool>;
  EXPECT_EQ(isnan(z).to_vector<bool>(), (Flags{false, false, false, true, false}));
  EXPECT_EQ(isinf(z).to_vector<bool>(), (Flags{false, false, false, false, true}));
  EXPECT_EQ(isfinite(z).to_vector<bool>(), (Flags{true, true, true, false, false}));
  EXPECT_EQ(isreal(z).to_vector<bool>(), (Flags{true, false, true, false, false}));
  EXPECT_EQ(logical_not(z).to_vector<bool>(), (Flags{true, false, false, false, false}));
  const auto angles = angle(z).to_vector<double>();
  EXPECT_NEAR(angles[1], std::numbers::pi / 2, 1e-15);
  EXPECT_NEAR(angles[2], std::numbers::pi, 1e-15);
  expect_near(polar(abs(z), angle(z)).slice(0, 0, 3), {3}, {0, {0, 2}, -1});
  expect_near(sgn(z).slice(0, 0, 3), {3}, {0, {0, 1}, -1});
}

TEST(ComplexFunctions, FunctionsOfSeveralAreThoseOfNumbers) {
  const Complex a(1, 2), b(-3, 0.5), c(0.25, -1), w(0.5, 0.5);
  const ComplexTensor x = complex_of({a}, {1}), y = complex_of({b}, {1}), z = complex_of({c}, {1});
  expect_near(lerp(x, y, 0.25), {1}, {a + 0.25 * (b - a)});
  expect_near(lerp(x, y, w), {1}, {a + w * (b - a)});
  expect_near(addcmul(x, y, z), {1}, {a + b * c});
  expect_near(addcmul(x, y, z, w), {1}, {a + w * b * c});
  expect_near(addcdiv(x, y, z, 2.0), {1}, {a + 2.0 * b / c});
  EXPECT_TRUE(isclose(x, complex_of({a + 1e-6}, {1})).item<bool>());
  EXPECT_FALSE(isclose(x, complex_of({a + 1e-3}, {1})).item<bool>());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ComplexTensor none = complex_of({{nan, 0}}, {1});
  EXPECT_FALSE(isclose(none, none).item<bool>());
  EXPECT_TRUE(isclose(none, none, {.equal_nan = true}).item<bool>());
}

}  // namespace
}  // namespace tilewright::complex_functions_test
