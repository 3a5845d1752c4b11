// x % y of floats is that of C's fmod, to the last bit, on every device.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/launch/device.h"

namespace tilewright::dsl::remainder_test {
namespace {

template <typename T>
class Remainder : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Remainder, Floats);

template <typename T>
std::vector<T> interesting() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           3,
                           T(0.1),
                           T(2.5),
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::denorm_min() * 5,
                           Limits::min() - Limits::denorm_min(),
                           Limits::max(),
                           Limits::epsilon(),
                           Limits::infinity(),
                           Limits::quiet_NaN()};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

template <typename T>
void expect_fmod(const std::vector<T>& x, const std::vector<T>& y) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Kernel remainder("remainder",
                   [](Pointer a, Pointer b, Pointer r, Scalar n) {
                     Tile i = program_id(0) * 256 + cast(arange(0, 256), i64);
                     store(r + i, load(a + i, i < n) % load(b + i, i < n), i < n);
                   },
                   {"a", "b", "r", "n"});
  for (const char* device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
    std::vector<T> result(x.size(), T(7));
    const auto count = static_cast<std::int64_t>(x.size());
    remainder.on(Device::parse(device)).launch((count + 255) / 256, x, y, result, count);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T wanted = std::fmod(x[i], y[i]);
      if (std::isnan(wanted))
        ASSERT_TRUE(std::isnan(result[i])) << device << ": " << x[i] << " % " << y[i];
      else
        ASSERT_EQ(std::bit_cast<Bits>(result[i]), std::bit_cast<Bits>(wanted))
            << device << ": " << x[i] << " % " << y[i] << " is " << wanted << ", not " << result[i];
    }
  }
}

TYPED_TEST(Remainder, OfEdgesIsThatOfC) {
  std::vector<TypeParam> x, y;
  for (TypeParam a : interesting<TypeParam>())
    for (TypeParam b : interesting<TypeParam>()) {
      x.push_back(a);
      y.push_back(b);
    }
  expect_fmod(x, y);
}

// For random bits, with exponents far apart, and for numbers of about one size.
TYPED_TEST(Remainder, OfRandomNumbersIsThatOfC) {
  using Bits = std::conditional_t<sizeof(TypeParam) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<TypeParam> near(-100, 100);
  std::vector<TypeParam> x, y;
  for (int i = 0; i < 2000; ++i) {
    x.push_back(std::bit_cast<TypeParam>(static_cast<Bits>(random())));
    y.push_back(std::bit_cast<TypeParam>(static_cast<Bits>(random())));
    x.push_back(near(random));
    y.push_back(near(random) / 7);
  }
  expect_fmod(x, y);
}

// Whole multiples and their neighbours, where a rounded quotient may be whole that is none, about
// the number of binary places too that a float has.
TYPED_TEST(Remainder, AboutMultiplesIsThatOfC) {
  constexpr int digits = std::numeric_limits<TypeParam>::digits;
  constexpr auto infinity = std::numeric_limits<TypeParam>::infinity();
  std::mt19937_64 random(12);
  std::uniform_real_distribution<TypeParam> part(1, 2);
  std::uniform_int_distribution<int> exponent(-digits - 100, 100);
  std::vector<TypeParam> x, y;
  for (int places = 0; places <= 3 * digits; ++places)
    for (int i = 0; i < 8; ++i) {
      const TypeParam b = std::ldexp(part(random), exponent(random));
      const TypeParam count = std::floor(std::ldexp(part(random), places));
      for (TypeParam a : {count * b, std::nextafter(count * b, infinity),
                          std::nextafter(count * b, TypeParam(0))}) {
        x.push_back(i % 2 == 0 ? a : -a);
        y.push_back(i % 3 == 0 ? b : -b);
      }
    }
  expect_fmod(x, y);
}

// All pairs of exponents from the least subnormal's to the greatest number's.
TYPED_TEST(Remainder, OfAllSizesIsThatOfC) {
  using Limits = std::numeric_limits<TypeParam>;
  constexpr int least = Limits::min_exponent - Limits::digits, step = Limits::digits / 3;
  std::mt19937_64 random(13);
  std::uniform_real_distribution<TypeParam> part(TypeParam(0.5), 1);
  std::vector<TypeParam> x, y;
  for (int p = least; p <= Limits::max_exponent; p += step)
    for (int q = least; q <= p; q += step) {
      x.push_back(std::ldexp(part(random), p));
      y.push_back(std::ldexp(part(random), q));
    }
  expect_fmod(x, y);
}

}  // namespace
}  // namespace tilewright::dsl::remainder_test
