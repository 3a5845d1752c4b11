#include "dsl/ir/immediates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace tilewright::ir::scalar_test {
namespace {

std::int64_t integers(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  return evaluate(op, std::array{Scalar::of_integer(dtype, a), Scalar::of_integer(dtype, b)}, dtype)
      .integer;
}
double floats(Op op, DType dtype, double a, double b) {
  return evaluate(op, std::array{Scalar::of(dtype, a), Scalar::of(dtype, b)}, dtype).floating;
}
Scalar cast(const Scalar& x, DType to) { return evaluate(Op::cast_, std::array{x}, to); }

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(integers(Op::add_, DType::i8, 127, 1), -128);
  EXPECT_EQ(integers(Op::mul_, DType::i32, 1 << 20, 1 << 20), 0);
  EXPECT_EQ(integers(Op::sub_, DType::u8, 0, 1), 255);
  EXPECT_EQ(integers(Op::add_, DType::i64, INT64_MAX, 1), INT64_MIN);
}

TEST(Scalar, DivisionByZeroGivesZeroAndTheLeastByMinusOneWraps) {
  EXPECT_EQ(integers(Op::div_, DType::i32, 7, 0), 0);
  EXPECT_EQ(integers(Op::rem_, DType::i32, 7, 0), 0);
  EXPECT_EQ(integers(Op::div_, DType::i32, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(integers(Op::rem_, DType::i64, INT64_MIN, -1), 0);
  EXPECT_EQ(integers(Op::div_, DType::i64, -7, 2), -3);
  EXPECT_EQ(integers(Op::rem_, DType::i64, -7, 2), -1);
  EXPECT_EQ(integers(Op::div_, DType::u64, -1, 2), INT64_MAX);
}

TEST(Scalar, TheUpperHalfOfAProductIsThatOfUnsignedNumbers) {
  EXPECT_EQ(integers(Op::umulhi_, DType::u32, 0xD2511F53, 0x9E3779B9), 0x81FBA4C3);
  EXPECT_EQ(integers(Op::umulhi_, DType::i32, -1, -1), -2);
  EXPECT_EQ(integers(Op::umulhi_, DType::u8, 200, 200), 156);
  EXPECT_EQ(integers(Op::umulhi_, DType::u64, -1, -1), -2);
  EXPECT_EQ(integers(Op::umulhi_, DType::i64, std::int64_t{1} << 40, std::int64_t{1} << 40), 65536);
  EXPECT_EQ(integers(Op::umulhi_, DType::boolean, 1, 1), 0);
}

TEST(Scalar, RandomBitsAreThoseOfPhilox) {
  EXPECT_EQ(integers(Op::random_bits_, DType::u64, 0, 0),
            static_cast<std::int64_t>(0xe169c58d6627e8d5));
  EXPECT_EQ(integers(Op::random_bits_, DType::i64, 0, 0),
            static_cast<std::int64_t>(0xe169c58d6627e8d5));
}

TEST(Scalar, AShiftByTheWidthOrMoreGivesZeroOrTheSign) {
  EXPECT_EQ(integers(Op::shl_, DType::i32, 1, 31), INT32_MIN);
  EXPECT_EQ(integers(Op::shl_, DType::i32, 1, 32), 0);
  EXPECT_EQ(integers(Op::shr_, DType::i32, -8, 1), -4);
  EXPECT_EQ(integers(Op::shr_, DType::i32, -8, 99), -1);
  EXPECT_EQ(integers(Op::shr_, DType::i32, 8, -1), 0);
  EXPECT_EQ(integers(Op::shr_, DType::u32, 0x80000000, 31), 1);
  EXPECT_EQ(integers(Op::shr_, DType::u64, -1, 63), 1);
}

TEST(Scalar, MinAndMaxGiveNanIfAnOperandIsNan) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    EXPECT_TRUE(std::isnan(floats(Op::max_, dtype, nan, 1)));
    EXPECT_TRUE(std::isnan(floats(Op::min_, dtype, 1, nan)));
    EXPECT_EQ(floats(Op::max_, dtype, -infinity, 1), 1);
  }
  for (Op op : {Op::min_, Op::max_}) {  // of zeros the first
    EXPECT_FALSE(std::signbit(floats(op, DType::f32, 0.0, -0.0)));
    EXPECT_TRUE(std::signbit(floats(op, DType::f32, -0.0, 0.0)));
  }
}

TEST(Scalar, Unsigned64BitComparesAsUnsigned) {
  auto a = Scalar::of_integer(DType::u64, -1), b = Scalar::of_integer(DType::u64, 1);
  EXPECT_EQ(evaluate(Op::gt_, std::array{a, b}, DType::boolean).integer, 1);
  EXPECT_EQ(integers(Op::max_, DType::u64, -1, 1), -1);
}

TEST(Scalar, ACastToAnIntegerTruncatesAndSaturates) {
  EXPECT_EQ(cast(Scalar::of(DType::f32, -2.9), DType::i32).integer, -2);
  EXPECT_EQ(cast(Scalar::of(DType::f32, 1e30), DType::i32).integer, INT32_MAX);
  EXPECT_EQ(cast(Scalar::of(DType::f64, -1e30), DType::i64).integer, INT64_MIN);
  EXPECT_EQ(cast(Scalar::of(DType::f64, 300), DType::u8).integer, 255);
  EXPECT_EQ(cast(Scalar::of(DType::f64, -1), DType::u8).integer, 0);
  EXPECT_EQ(cast(Scalar::of(DType::f64, 1e30), DType::u64).integer, -1);
  EXPECT_EQ(cast(Scalar::of(DType::f64, nan), DType::i32).integer, 0);
  EXPECT_EQ(cast(Scalar::of(DType::f64, 0.25), DType::boolean).integer, 1);
  EXPECT_EQ(cast(Scalar::of_integer(DType::i32, 256), DType::u8).integer, 0);
  EXPECT_EQ(cast(Scalar::of_integer(DType::u64, -1), DType::f64).floating, 0x1p64);
}

TEST(Scalar, SixteenBitFloatsRoundOnceFromF32) {
  EXPECT_EQ(floats(Op::add_, DType::f16, 2048, 1), 2048);
  EXPECT_EQ(floats(Op::add_, DType::f16, 2048, 3), 2052);
  EXPECT_EQ(floats(Op::mul_, DType::f16, 60000, 2), infinity);
  EXPECT_EQ(floats(Op::add_, DType::bf16, 256, 1), 256);
}

TEST(Scalar, FmaRoundsOnce) {
  double x = 1 + 0x1p-23, y = 1 - 0x1p-23;
  auto of = [](double v) { return Scalar::of(DType::f32, v); };
  EXPECT_EQ(evaluate(Op::fma_, std::array{of(x), of(y), of(-1)}, DType::f32).floating, -0x1p-46);
}

TEST(Scalar, LdexpRoundsOnceAndTakesTheWholePart) {
  EXPECT_EQ(floats(Op::ldexp_, DType::f32, 1.5, 3.75), 12);
  EXPECT_EQ(floats(Op::ldexp_, DType::f32, 1.5, -0.25), 0.75);
  EXPECT_EQ(floats(Op::ldexp_, DType::f32, 0x1.000002p-100, -30), 0x1p-130);
  EXPECT_EQ(floats(Op::ldexp_, DType::f32, 0x1p-149, 276), 0x1p127);
  EXPECT_EQ(floats(Op::ldexp_, DType::f32, 1, 1e30), infinity);
  EXPECT_EQ(floats(Op::ldexp_, DType::f64, 0x1p-1074, 2097), 0x1p1023);
}

TEST(Scalar, ABitcastKeepsTheBits) {
  auto bits = evaluate(Op::bitcast_, std::array{Scalar::of(DType::f32, -1)}, DType::i32);
  EXPECT_EQ(bits.integer, static_cast<std::int32_t>(0xbf800000));
  EXPECT_EQ(evaluate(Op::bitcast_, std::array{bits}, DType::f32).floating, -1);
  auto half = evaluate(Op::bitcast_, std::array{Scalar::of(DType::f16, 1)}, DType::u16);
  EXPECT_EQ(half.integer, 0x3c00);
}

TEST(Scalar, TheIdentityOfAReductionChangesNothing) {
  for (ReduceKind kind : {ReduceKind::sum, ReduceKind::prod, ReduceKind::max, ReduceKind::min})
    for (DType dtype : all_dtypes()) {
      if (is_boolean(dtype) || is_float8(dtype)) continue;
      for (int x : {-5, 0, 3, 127}) {
        Scalar value = Scalar::of_integer(dtype, x);
        EXPECT_EQ(combine(kind, identity(kind, dtype), value), value)
            << name_of(kind) << " of " << name_of(dtype);
      }
    }
  Scalar yes = Scalar::of_integer(DType::boolean, 1);
  EXPECT_EQ(combine(ReduceKind::any, identity(ReduceKind::any, DType::boolean), yes), yes);
  EXPECT_EQ(combine(ReduceKind::all, identity(ReduceKind::all, DType::boolean), yes), yes);
}

}  // namespace
}  // namespace tilewright::ir::scalar_test
