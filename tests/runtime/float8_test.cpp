#include "runtime/base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tilewright::float8_test {
namespace {

// A format by its definition, in double.
struct Format {
  int mantissa_bits, bias, largest;  // the code of the largest number
  std::uint8_t (*bits)(float);
  float (*value)(std::uint8_t);

  double exact(int code) const {
    int mantissa = code & ((1 << mantissa_bits) - 1), exponent = (code & 0x7f) >> mantissa_bits;
    double fraction = std::ldexp(mantissa, -mantissa_bits);
    double magnitude =
        exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return (code & 0x80) != 0 ? -magnitude : magnitude;
  }
  // Those whose bias is a power of two have one zero, and NaN where the other would be.
  bool has_one_zero() const { return (bias & (bias - 1)) == 0; }
  // The nearest code of a magnitude, ties to even; the one above the largest stands for what is
  // too large.
  int nearest(double magnitude) const {
    int code = 0;
    while (code <= largest && exact(code + 1) <= magnitude) ++code;
    if (code > largest) return code;
    double below = magnitude - exact(code), above = exact(code + 1) - magnitude;
    return below < above || (below == above && code % 2 == 0) ? code : code + 1;
  }
};
const Format formats[] = {{3, 7, 0x7e, e4m3_bits, e4m3_value},
                          {2, 15, 0x7b, e5m2_bits, e5m2_value},
                          {3, 8, 0x7f, e4m3fnuz_bits, e4m3fnuz_value},
                          {2, 16, 0x7f, e5m2fnuz_bits, e5m2fnuz_value}};

TEST(Float8, EveryCodeHasTheValueOfItsDefinitionAndComesBack) {
  for (const Format& f : formats)
    for (int code = 0; code < 256; ++code) {
      auto bits = static_cast<std::uint8_t>(code);
      if ((code & 0x7f) > f.largest || (f.has_one_zero() && code == 0x80)) continue;
      ASSERT_EQ(static_cast<double>(f.value(bits)), f.exact(code)) << code;
      ASSERT_EQ(f.bits(f.value(bits)), bits);
    }
  EXPECT_EQ(e4m3_value(0x7e), 448);
  EXPECT_EQ(e5m2_value(0x7b), 57344);
}

TEST(Float8, WhatIsNoNumberOrTooLargeIsAsInPyTorch) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_TRUE(std::isnan(e4m3_value(0x7f)) && std::isnan(e4m3_value(0xff)));
  // PyTorch 2.15's float8_e4m3fn saturates, at infinities too.
  for (float x : {464.0F, 464.1F, 480.0F, 500.0F, 1e30F, infinity}) {
    EXPECT_EQ(e4m3_bits(x), 0x7e) << x;
    EXPECT_EQ(e4m3_bits(-x), 0xfe) << x;
  }
  EXPECT_EQ(e4m3_bits(nan) & 0x7f, 0x7f);
  for (float x : {61440.0F, 1e30F, infinity}) EXPECT_EQ(e5m2_bits(x), 0x7c) << x;
  EXPECT_EQ(e5m2_bits(std::nextafter(61440.0F, 0.0F)), 0x7b);
  EXPECT_EQ(e5m2_bits(-infinity), 0xfc);
  EXPECT_TRUE(std::isnan(e5m2_value(e5m2_bits(nan))));
}

TEST(Float8, OfOneZeroGivesItsOneNaNForAllThatIsTooLarge) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_TRUE(std::isnan(e4m3fnuz_value(0x80)) && std::isnan(e5m2fnuz_value(0x80)));
  EXPECT_EQ(e4m3fnuz_value(0x7f), 240);
  EXPECT_EQ(e5m2fnuz_value(0x7f), 57344);
  for (float x : {248.0F, 1e30F, infinity, nan}) {
    EXPECT_EQ(e4m3fnuz_bits(x), 0x80) << x;
    EXPECT_EQ(e4m3fnuz_bits(-x), 0x80) << x;
  }
  EXPECT_EQ(e4m3fnuz_bits(std::nextafter(248.0F, 0.0F)), 0x7f);
  EXPECT_EQ(e5m2fnuz_bits(61440), 0x80);
  EXPECT_EQ(e5m2fnuz_bits(std::nextafter(-61440.0F, 0.0F)), 0xff);
  for (float x : {-0.0F, -1e-30F}) EXPECT_EQ(e4m3fnuz_bits(x), 0) << x;
}

TEST(Float8, RoundsToTheNearestTiesToEven) {
  std::mt19937 random(1);
  for (const Format& f : formats) {
    auto expect_nearest = [&](float x) {
      int code = f.nearest(std::abs(static_cast<double>(x)));
      bool has_sign = x < 0 && !(code == 0 && f.has_one_zero());
      ASSERT_EQ(f.bits(x), code | (has_sign ? 0x80 : 0)) << std::hexfloat << x;
    };
    for (int code = 0; code < f.largest; ++code) {
      auto tie = static_cast<float>((f.exact(code) + f.exact(code + 1)) / 2);
      for (float x : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 1e9F)}) {
        expect_nearest(x);
        expect_nearest(-x);
      }
    }
    for (int i = 0; i < 20'000; ++i)
      expect_nearest(std::ldexp(static_cast<float>(random() % (1 << 24)),
                                static_cast<int>(random() % 26) - 44));
  }
}

}  // namespace
}  // namespace tilewright::float8_test
