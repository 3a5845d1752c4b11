// Keys and values of 8 bits with a scale for each row: what rounding to them loses, and attention
// over them beside attention over the numbers that they stand for.
#include "graph/functions/attending/row_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::row_codes_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr DType codes[] = {DType::i8, DType::f8e4m3, DType::f8e5m2};
// Half a step of the largest code, and half a step of any number of f8.
double rounding_of(DType dtype) {
  return dtype == DType::i8 ? 0.5 / 127 : dtype == DType::f8e4m3 ? 1.0 / 16 : 1.0 / 8;
}

TEST(RowCodes, AreWithinHalfAStep) {
  const Tensor x = ramp({3, 5, 40}, 0.37F) * ramp({3, 5, 1}, 0.9F);
  const auto numbers = x.to_vector<float>();
  for (DType dtype : codes) {
    const RowCodes rows = quantize_rows(x, dtype);
    EXPECT_EQ(rows.codes.dtype(), dtype);
    EXPECT_EQ(rows.scales.shape(), (Shape{3, 5}));
    const auto decoded = rows.decoded(f32).to_vector<float>();
    for (std::size_t row = 0; row < 15; ++row) {
      double largest = 0;
      for (std::size_t i = 0; i < 40; ++i)
        largest = std::max<double>(largest, std::abs(numbers[row * 40 + i]));
      for (std::size_t i = 0; i < 40; ++i) {
        const double x_i = numbers[row * 40 + i],
                     of = dtype == DType::i8 ? largest : std::abs(x_i) + largest * 1e-4;
        EXPECT_NEAR(decoded[row * 40 + i], x_i, of * rounding_of(dtype) * 1.001);
      }
    }
  }
}

TEST(RowCodes, KeepZerosAndDoNotHideWhatIsNotFinite) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({0, 0, 0, 1e-45F, 0, 0, 1, infinity, 2, 1, NAN, 2}, {4, 3});
  for (DType dtype : codes) {
    const auto decoded = quantize_rows(x, dtype).decoded(f32).to_vector<float>();
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(decoded[i], 0, 1e-44) << i;
    for (std::size_t i = 6; i < 12; ++i) EXPECT_TRUE(std::isnan(decoded[i])) << dtype << " " << i;
  }
}

Tensor wave(const Shape& shape, float step) { return sin(ramp(shape, step)); }

struct Sizes {
  std::int64_t batch, heads, groups, rows, keys, depth;
};

// The largest difference from attention over decoded numbers, relative to the largest of these.
double difference(const Sizes& s, DType own, DType code, const AttentionOptions& options) {
  const Tensor q = wave({s.batch, s.heads, s.rows, s.depth}, 0.31F).to(own),
               k = wave({s.batch, s.groups, s.keys, s.depth}, 0.17F),
               v = wave({s.batch, s.groups, s.keys, s.depth}, 0.23F) *
                   wave({s.batch, s.groups, s.keys, 1}, 0.6F);
  const RowCodes key_codes = quantize_rows(k, code), value_codes = quantize_rows(v, code);
  const Tensor found = compile([&](const Tensor& x) {
    return scaled_dot_product_attention(x, key_codes, value_codes, options);
  })(q);
  EXPECT_EQ(found.dtype(), own);
  const auto expected = scaled_dot_product_attention(q.to(f32), key_codes.decoded(f32),
                                                     value_codes.decoded(f32), options)
                            .to_vector<float>();
  const auto numbers = found.to(f32).to_vector<float>();
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    largest = std::max<double>(largest, std::abs(expected[i]));
    off = std::max<double>(off, std::abs(numbers[i] - expected[i]));
  }
  return off / largest;
}

// One row, rows that share keys in one program, rows in several blocks; wide and narrow heads; keys
// in whole blocks and beyond.
TEST(RowCodes, AreAttendedLikeTheNumbersTheyStandFor) {
  const Tensor position = Tensor::from<std::int64_t>({40}, {1});
  const std::vector<Sizes> all = {{2, 4, 2, 1, 64, 32},
                                  {1, 4, 1, 1, 47, 80},
                                  {2, 2, 2, 5, 64, 64},
                                  {1, 4, 2, 20, 64, 16},
                                  {1, 2, 1, 70, 128, 64}};
  for (const Sizes& s : all)
    for (DType own : {f32, f16, bf16})
      for (DType code : codes) {
        // Floats of 8 bits differ from i8 in their conversion alone.
        if (code != DType::i8 && (own == f16 || s.rows > 1)) continue;
        const double most = own == f32 ? 3e-6 : own == f16 ? 2e-3 : 2e-2;
        SCOPED_TRACE(::testing::Message() << own << " " << code << " " << s.rows << " rows of "
                                          << s.depth << ", " << s.keys << " keys");
        EXPECT_LT(difference(s, own, code, {}), most);
        if (s.rows + 40 <= s.keys)
          EXPECT_LT(difference(s, own, code, {.causal = true, .position = position, .window = 9}),
                    most);
      }
}

TEST(RowCodes, AreAttendedWithMasksAndCaps) {
  const Sizes s{2, 4, 2, 3, 48, 32};
  Tensor mask = ramp({s.batch, 1, s.rows, s.keys}, 0.7F);
  EXPECT_LT(difference(s, f32, DType::i8, {.mask = mask, .cap = 2}), 3e-6);
  EXPECT_LT(difference(s, f32, DType::i8, {.scale = 0.3, .mask = mask > 0}), 3e-6);
}

TEST(RowCodes, HaveTheGradientOfQThatTheNumbersGive) {
  const Tensor q = wave({1, 4, 3, 16}, 0.31F), k = wave({1, 2, 12, 16}, 0.17F),
               v = wave({1, 2, 12, 16}, 0.23F), weights = wave({1, 4, 3, 16}, 0.4F);
  const RowCodes key_codes = quantize_rows(k, DType::i8), value_codes = quantize_rows(v, DType::i8);
  auto of_codes = compile(grad([&](const Tensor& x) {
    return sum(scaled_dot_product_attention(x, key_codes, value_codes) * weights);
  }));
  auto of_numbers = compile(grad([&](const Tensor& x) {
    return sum(scaled_dot_product_attention(x, key_codes.decoded(f32), value_codes.decoded(f32)) *
               weights);
  }));
  const auto found = of_codes(q).to_vector<float>(), expected = of_numbers(q).to_vector<float>();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
}

TEST(RowCodes, RefuseWhatDoesNotFit) {
  const Tensor x = wave({1, 2, 6, 8}, 0.1F), q = wave({1, 4, 2, 8}, 0.1F);
  EXPECT_THAT(error_of([&] { quantize_rows(x, f16); }),
              HasSubstr("[quantize_rows] codes of f16 (at row_codes_test.cpp:"));
  EXPECT_THAT(error_of([&] { quantize_rows(x.to(i32), DType::i8); }),
              HasSubstr("[quantize_rows] x is i32 [1x2x6x8]"));
  const RowCodes good = quantize_rows(x, DType::i8);
  RowCodes wide = good, other = quantize_rows(x, DType::f8e4m3), none = good;
  wide.scales = good.scales.unsqueeze(-1);
  none.scales = Tensor();
  EXPECT_THAT(error_of([&] { scaled_dot_product_attention(q, good, wide); }),
              HasSubstr("[attention] the scales of v are 1x2x6x1 (at row_codes_test.cpp:"));
  EXPECT_THAT(error_of([&] { scaled_dot_product_attention(q, none, good); }),
              HasSubstr("[attention] the scales of k are undefined"));
  EXPECT_THAT(error_of([&] { scaled_dot_product_attention(q, good, other); }),
              HasSubstr("k is i8, v is f8e4m3 and they have scales; they must have one dtype"));
  EXPECT_THAT(error_of([&] {
                quantize_rows(Tensor::empty({2, 0}), DType::i8);
              }),
              HasSubstr("[quantize_rows] x is [2x0] (at row_codes_test.cpp:"));
  EXPECT_THAT(
      error_of([&] { wide.decoded(f32); }),
      HasSubstr("[decoded] codes are i8 [1x2x6x8], scales [1x2x6x1] (at row_codes_test.cpp:"));
  EXPECT_THAT(error_of([&] { none.decoded(f32); }), HasSubstr("[decoded] scales are undefined"));
  EXPECT_THAT(error_of([&] { good.decoded(i32); }), HasSubstr("[decoded] the dtype is i32"));
}

}  // namespace
}  // namespace tilewright::row_codes_test
