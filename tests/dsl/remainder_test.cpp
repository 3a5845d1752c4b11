// x % y of floats is that of C's fmod, to the last bit, on every device.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/target/device.h"

namespace tilewright::dsl {
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

// Of any bits, whose exponents lie far apart, and of numbers of about one size.
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

}  // namespace
}  // namespace tilewright::dsl
