// Parts of floating numbers against C's functions, and casts that round elsewhere.
#include "dsl/language/words/libdevice/floats.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/half.h"
#include "tests/dsl/words/libdevice/ulps.h"
#include "tests/errors.h"

namespace tilewright::dsl::floats_test {
namespace {

template <typename T>
Wide neighbour(Wide x, Wide y) {
  return std::nextafter(static_cast<T>(x), static_cast<T>(y));
}

template <typename T>
std::vector<PairFunction> of_two() {
  return {
      {"fdim", fdim, [](Wide x, Wide y) { return static_cast<Wide>(std::fdim(T(x), T(y))); }, 0},
      {"fmod", fmod, [](Wide x, Wide y) { return std::fmod(x, y); }, 0},
      {"remainder", remainder, [](Wide x, Wide y) { return std::remainder(x, y); }, 0},
      {"copysign", copysign, [](Wide x, Wide y) { return std::copysign(x, y); }, 0},
      {"nextafter", nextafter, neighbour<T>, 0},
  };
}

TEST(Floats, FunctionsOfTwoAreThoseOfC) {
  expect_pairs<float>(of_two<float>());
  expect_pairs<double>(of_two<double>());
}

template <typename T>
void expect_parts() {
  const std::vector<T> x = numbers<T>();
  const auto count = static_cast<std::int64_t>(x.size());
  in_every_way(
      [&](Pointer x, Pointer whole, Pointer out) {
        Tile t = block(x, {count});
        int row = 0;
        for (const Tile& each : {trunc(t), rint(t), nearbyint(t), logb(t), saturate(t),
                                 scalbn(t, 5), scalbn(t, -1000), scalbn(t, INT32_MAX)})
          put(out + count * row++, each);
        row = 0;
        for (const Tile& each : {cast(isnan(t), i64), cast(isinf(t), i64), cast(isfinite(t), i64),
                                 cast(signbit(t), i64), cast(ilogb(t), i64), llrint(t)})
          put(whole + count * row++, each);
      },
      [&](const std::vector<T>& x, const std::vector<std::int64_t>& whole,
          const std::vector<T>& out) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          const T v = x[i];
          const T numbers[] = {std::trunc(v),
                               std::rint(v),
                               std::nearbyint(v),
                               std::logb(v),
                               std::isnan(v) ? T(0) : std::clamp(v, T(0), T(1)),
                               std::scalbn(v, 5),
                               std::scalbn(v, -1000),
                               std::scalbn(v, 100000)};
          for (std::size_t k = 0; k < std::size(numbers); ++k)
            EXPECT_EQ(ulps(out[k * x.size() + i], static_cast<Wide>(numbers[k])), 0)
                << k << " of " << v << " is " << out[k * x.size() + i];
          const std::int64_t exponent = std::isnan(v) || v == 0 ? INT32_MIN
                                        : std::isinf(v)         ? INT32_MAX
                                                                : std::ilogb(v);
          const std::int64_t rounded = std::isnan(v)     ? 0
                                       : v >= T(0x1p63)  ? INT64_MAX
                                       : v <= T(-0x1p63) ? INT64_MIN
                                                         : std::llrint(v);
          const std::int64_t wholes[] = {std::isnan(v),   std::isinf(v), std::isfinite(v),
                                         std::signbit(v), exponent,      rounded};
          for (std::size_t k = 0; k < std::size(wholes); ++k)
            EXPECT_EQ(whole[k * x.size() + i], wholes[k]) << k << " of " << v;
        }
      },
      x, std::vector<std::int64_t>(6 * x.size()), std::vector<T>(8 * x.size()));
}

TEST(Floats, PartsOfNumbersAreThoseOfC) {
  expect_parts<float>();
  expect_parts<double>();
}

// The f16 next to v, towards `to`.
float next_half(float v, float to) {
  if (v == 0) return std::copysign(0x1p-24F, to);
  const auto bits = std::bit_cast<std::uint16_t>(Half(v));
  const int by = (v < to) == (v > 0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(bits + by)));
}

// y is that of the two neighbours of x which the rounding says.
void expect_half(float y, float x, Rounding way) {
  if (way == Rounding::nearest) EXPECT_EQ(y, static_cast<float>(Half(x)));
  if (way == Rounding::nearest || y == x) return;
  if (way == Rounding::down || (way == Rounding::toward_zero && x > 0)) {
    EXPECT_LT(y, x);
    EXPECT_GT(next_half(y, HUGE_VALF), x);
  } else {
    EXPECT_GT(y, x);
    EXPECT_LT(next_half(y, -HUGE_VALF), x);
  }
}

void expect_upper_half(float y, float x, Rounding way) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const float cut = std::bit_cast<float>(bits & 0xFFFF0000U);
  const float beyond = std::bit_cast<float>((bits & 0xFFFF0000U) + 0x10000U);
  const bool goes_on = cut != x && (way == Rounding::down ? x < 0 : way == Rounding::up && x > 0);
  if (way != Rounding::nearest) EXPECT_EQ(y, goes_on ? beyond : cut);
}

void expect_whole(std::int32_t y, float x, Rounding way) {
  const float whole = way == Rounding::nearest       ? std::rint(x)
                      : way == Rounding::toward_zero ? std::trunc(x)
                      : way == Rounding::down        ? std::floor(x)
                                                     : std::ceil(x);
  const double bounded = std::clamp(static_cast<double>(whole), -0x1p31, 0x1p31 - 1);
  EXPECT_EQ(y, std::isnan(x) ? 0 : static_cast<std::int32_t>(bounded));
}

TEST(Floats, CastsRoundAsTheyAreTold) {
  std::vector<float> x = numbers<float>();
  for (const float edge :
       {65504.0F, 65519.0F, 65520.0F, 1e6F, 2049.0F, 2051.0F, 0x1p-24F, 0x1p-25F})
    for (const float sign : {1.0F, -1.0F}) x.push_back(edge * sign);
  const auto count = static_cast<std::int64_t>(x.size());
  constexpr Rounding ways[] = {Rounding::nearest, Rounding::toward_zero, Rounding::down,
                               Rounding::up};
  in_every_way(
      [&](Pointer x, Pointer narrow, Pointer whole, Pointer upper) {
        Tile t = block(x, {count});
        int row = 0;
        for (Rounding way : ways) {
          put(narrow + count * row, cast(cast(t, f16, way), f32));
          put(upper + count * row, cast(cast(t, bf16, way), f32));
          put(whole + count * row++, cast(t, i32, way));
        }
      },
      [&](const std::vector<float>& x, const std::vector<float>& narrow,
          const std::vector<std::int32_t>& whole, const std::vector<float>& upper) {
        for (std::size_t i = 0; i < x.size(); ++i)
          for (std::size_t k = 0; k < std::size(ways); ++k) {
            SCOPED_TRACE(concat(x[i], " in way ", k));
            const std::size_t at = k * x.size() + i;
            expect_whole(whole[at], x[i], ways[k]);
            EXPECT_EQ(std::isnan(narrow[at]) && std::isnan(upper[at]), std::isnan(x[i]));
            if (std::isnan(x[i])) continue;
            expect_half(narrow[at], x[i], ways[k]);
            expect_upper_half(upper[at], x[i], ways[k]);
          }
      },
      x, std::vector<float>(4 * x.size()), std::vector<std::int32_t>(4 * x.size()),
      std::vector<float>(4 * x.size()));
}

TEST(Floats, RefuseOtherTypes) {
  auto refused = [](const std::function<void(Tile)>& body, const std::string& text) {
    Kernel kernel("k", [&](Pointer p) { body(block(p, {4})); });
    EXPECT_THAT(error_of([&] { kernel.trace({i32}); }), testing::HasSubstr(text));
  };
  refused([](Tile t) { isnan(t); }, "[isnan] the operand is i32[4]; it must be floating");
  refused([](Tile t) { scalbn(cast(t, f32), cast(t, f32)); },
          "[scalbn] the exponent is f32[4]; it must be an integer");
  refused([](Tile t) { cast(cast(t, f32), f8e4m3, Rounding::up); },
          "[cast] to f8e4m3 numbers are not rounded but to nearest");
  refused([](Tile t) { cast(cast(t, f32), boolean, Rounding::up); },
          "the type must be an integer or a float of 16 bits at the least");
}

}  // namespace
}  // namespace tilewright::dsl::floats_test
