#include "runtime/base/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "runtime/base/error.h"

namespace tilewright::dtype_test {
namespace {

// A 16-bit format by its definition: the value of a code, computed in double and by nothing that
// the library shares.
struct Format {
  int exponent_bits, mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double value(unsigned code) const {
    int mantissa = static_cast<int>(code & ((1U << mantissa_bits) - 1));
    int exponent = static_cast<int>(code >> mantissa_bits & ((1U << exponent_bits) - 1));
    double sign = (code & 0x8000U) != 0 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
      return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    double fraction = std::ldexp(mantissa, -mantissa_bits);
    return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias())
                         : sign * std::ldexp(1 + fraction, exponent - bias());
  }
  unsigned infinity() const { return ((1U << exponent_bits) - 1) << mantissa_bits; }

  // Nearest code to a finite value of at most half a step above the largest, ties to the even code,
  // by bisection over the codes, which are in the order of their values.
  unsigned nearest(double value) const {
    unsigned sign = std::signbit(value) ? 0x8000U : 0;
    double magnitude = std::abs(value);
    unsigned low = 0, high = infinity();
    while (high - low > 1) {
      unsigned middle = (low + high) / 2;
      (this->value(middle) <= magnitude ? low : high) = middle;
    }
    // The step above the largest finite value counts as if the format went on.
    double above = high == infinity() ? std::ldexp(1.0, bias() + 1) : this->value(high);
    double to_low = magnitude - this->value(low), to_high = above - magnitude;
    if (to_low != to_high) return sign | (to_low < to_high ? low : high);
    return sign | (low % 2 == 0 ? low : high);
  }
};

constexpr Format half{5, 10}, bfloat16{8, 7};

void expect_same(double expected, float actual, unsigned code) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(actual)) << code;
  } else {
    ASSERT_EQ(expected, static_cast<double>(actual)) << code;
    ASSERT_EQ(std::signbit(expected), std::signbit(actual)) << code;
  }
}

TEST(DType, EveryCodeOfBothHalfTypesHasTheValueOfItsDefinition) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    expect_same(half.value(code), half_value(static_cast<std::uint16_t>(code)), code);
    expect_same(bfloat16.value(code), bfloat16_value(static_cast<std::uint16_t>(code)), code);
  }
}

TEST(DType, EveryCodeThatIsANumberComesBackFromItsValue) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    auto bits = static_cast<std::uint16_t>(code);
    float half_number = half_value(bits), bfloat16_number = bfloat16_value(bits);
    ASSERT_TRUE(std::isnan(half_number) || half_bits(half_number) == bits) << bits;
    ASSERT_TRUE(std::isnan(bfloat16_number) || bfloat16_bits(bfloat16_number) == bits) << bits;
  }
}

TEST(DType, NanStaysNanWithItsSignAndInfinityStaysInfinity) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    auto bits = static_cast<std::uint16_t>(code);
    if (std::isnan(half_value(bits))) {
      std::uint16_t back = half_bits(half_value(bits));
      ASSERT_TRUE(std::isnan(half_value(back)));
      ASSERT_EQ(back & 0x8000, bits & 0x8000);
    }
    if (std::isnan(bfloat16_value(bits))) {
      std::uint16_t back = bfloat16_bits(bfloat16_value(bits));
      ASSERT_TRUE(std::isnan(bfloat16_value(back)));
      ASSERT_EQ(back & 0x8000, bits & 0x8000);
    }
  }
  // NaN payloads that lie only in the bits that are cut off.
  EXPECT_TRUE(std::isnan(half_value(half_bits(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(bfloat16_value(bfloat16_bits(std::bit_cast<float>(0xff800001U)))));
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(half_bits(infinity), 0x7c00);
  EXPECT_EQ(half_bits(-infinity), 0xfc00);
  EXPECT_EQ(bfloat16_bits(-infinity), 0xff80);
}

void expect_rounding(float value) {
  if (std::isnan(value) || std::isinf(value)) return;
  ASSERT_EQ(half_bits(value), half.nearest(value)) << std::hexfloat << value;
  ASSERT_EQ(bfloat16_bits(value), bfloat16.nearest(value)) << std::hexfloat << value;
}

TEST(DType, RoundingGoesToTheNearestAndTiesToEvenAroundEveryCode) {
  for (const Format& format : {half, bfloat16})
    for (unsigned code = 0; code + 1 < format.infinity(); ++code) {
      double middle = (format.value(code) + format.value(code + 1)) / 2;
      auto tie = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(tie), middle) << "a tie is exact in f32";
      for (float value : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 1e38F)}) {
        expect_rounding(value);
        expect_rounding(-value);
      }
    }
  for (float value : {65504.0F, 65519.996F, 65520.0F, 65536.0F, 3.3895314e38F, 3.3961775e38F,
                      std::numeric_limits<float>::max()})
    expect_rounding(value);
}

TEST(DType, RoundingOfRandomFloatsGoesToTheNearest) {
  std::mt19937 random(1);
  for (int i = 0; i < 300'000; ++i)
    expect_rounding(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
}

TEST(DType, ColumnsAreTrueOfTheTypeThatStoresAnElement) {
  for (DType dtype : all_dtypes()) {
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      EXPECT_EQ(bit_width(dtype), 8 * static_cast<int>(sizeof(T)));
      if constexpr (std::is_integral_v<T>) {
        EXPECT_EQ(digits(dtype), std::numeric_limits<T>::digits) << dtype;
      }
    });
    if (!is_floating(dtype)) continue;
    EXPECT_EQ(digits(dtype) + exponent_bits(dtype), bit_width(dtype)) << dtype;
    double most = std::ldexp(1.0, digits(dtype));
    EXPECT_EQ(rounded_to(dtype, most - 1), most - 1) << dtype;
    if (dtype != f64) {
      EXPECT_NE(rounded_to(dtype, most + 1), most + 1) << dtype;
    }
    // The least normal number is the one after the codes of which the exponent is 0.
    std::uint64_t least = std::uint64_t{1} << (digits(dtype) - 1);
    EXPECT_EQ(value_of_bits(dtype, least), std::ldexp(1.0, 1 - exponent_bias(dtype))) << dtype;
    EXPECT_EQ(bits_of(dtype, value_of_bits(dtype, least)), least) << dtype;
  }
}

TEST(DType, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> names;
  for (DType dtype : all_dtypes()) {
    EXPECT_TRUE(names.insert(name_of(dtype)).second);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    EXPECT_EQ(concat(dtype), name_of(dtype));
  }
  EXPECT_EQ(names.size(), 17U);
  EXPECT_EQ(parse_dtype("bool"), boolean);
  EXPECT_EQ(parse_dtype("boolean"), std::nullopt);
  EXPECT_EQ(parse_dtype("F32"), std::nullopt);
}

TEST(DType, FactsAgreeWithTheHostTypes) {
  for (DType dtype : all_dtypes())
    dispatch(dtype, [&]<typename T>(T) {
      EXPECT_EQ(size_bytes(dtype), static_cast<std::int64_t>(sizeof(T)));
      EXPECT_EQ(bit_width(dtype), static_cast<int>(8 * sizeof(T)));
      EXPECT_EQ(dtype_of<T>(), dtype);
      if constexpr (std::is_arithmetic_v<T>) {
        EXPECT_EQ(is_floating(dtype), std::is_floating_point_v<T>);
        EXPECT_EQ(is_signed(dtype), std::is_integral_v<T> && std::is_signed_v<T>);
        EXPECT_EQ(is_boolean(dtype), (std::is_same_v<T, bool>));
      } else {
        EXPECT_TRUE(is_floating(dtype));
      }
    });
}

TEST(DType, PromotionFollowsPyTorch) {
  struct Case {
    DType a, b, result;
  };
  for (Case c : {Case{boolean, u8, u8},
                 {boolean, bf16, bf16},
                 {i64, f16, f16},
                 {f16, bf16, f32},
                 {f8e4m3, f8e5m2, f32},
                 {f8e5m2, bf16, bf16},
                 {f16, f32, f32},
                 {bf16, f64, f64},
                 {i8, u8, i16},
                 {i16, u8, i16},
                 {i32, i64, i64},
                 {i8, i32, i32},
                 {u16, i16, i32},
                 {u8, u32, u32},
                 {i32, u32, i64}})
    EXPECT_EQ(promote(c.a, c.b), c.result) << c.a << " with " << c.b;
}

TEST(DType, PromotionIsCommutativeAndKeepsEqualTypes) {
  for (DType a : all_dtypes()) {
    EXPECT_EQ(promote(a, a), a);
    for (DType b : all_dtypes()) EXPECT_EQ(promote(a, b), promote(b, a)) << a << " with " << b;
  }
}

}  // namespace
}  // namespace tilewright::dtype_test
