// Products of small floats with a scale for each 32 of them.
#include "dsl/language/words/scaled_products.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "runtime/base/half.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::scaled_products_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;

double value_of(ScaledFormat format, std::uint8_t bits) {
  constexpr double small[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  switch (format) {
    case ScaledFormat::e2m1: return (bits & 8) != 0 ? -small[bits & 7] : small[bits & 7];
    case ScaledFormat::e4m3: return static_cast<float>(std::bit_cast<Float8E4M3>(bits));
    case ScaledFormat::e5m2: return static_cast<float>(std::bit_cast<Float8E5M2>(bits));
    default: return NAN;
  }
}

// Elements, none of which is a NaN or infinite, and scales near 1.
Bytes drawn(ScaledFormat format, std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Bytes bytes;
  while (std::ssize(bytes) < count) {
    const auto byte = static_cast<std::uint8_t>(generator());
    if (format == ScaledFormat::e2m1 || std::isfinite(value_of(format, byte)))
      bytes.push_back(byte);
  }
  return bytes;
}
Bytes drawn_scales(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Bytes bytes;
  for (std::int64_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<std::uint8_t>(120 + generator() % 12));
  return bytes;
}

// Row by row, whatever the format: element k of a row of `inner`.
double element(ScaledFormat format, const Bytes& bytes, const Bytes& scales, std::int64_t row,
               std::int64_t k, std::int64_t inner, bool inner_is_first, std::int64_t rows) {
  const bool packed = format == ScaledFormat::e2m1;
  const std::int64_t along = packed ? k / 2 : k, size = packed ? inner / 2 : inner;
  const std::int64_t at = inner_is_first ? along * rows + row : row * size + along;
  std::uint8_t bits = bytes[static_cast<std::size_t>(at)];
  if (packed) bits = k % 2 == 0 ? bits & 15 : bits >> 4;
  const int scale = scales[static_cast<std::size_t>(row * inner / 32 + k / 32)];
  return std::ldexp(value_of(format, bits), scale - 127);
}

TEST(DotScaled, MultipliesEveryFormatOnEitherSide) {
  constexpr std::int64_t m = 16, n = 24, k = 64;
  using enum ScaledFormat;
  for (auto [left, right] : {std::pair(e2m1, e4m3), std::pair(e4m3, e5m2), std::pair(e5m2, e2m1)}) {
    const std::int64_t left_k = left == e2m1 ? k / 2 : k, right_k = right == e2m1 ? k / 2 : k;
    in_every_way(
        [&](Pointer a, Pointer as, Pointer b, Pointer bs, Pointer out) {
          put(out, dot_scaled({block(a, {m, left_k}), left, block(as, {m, k / 32})},
                              {block(b, {right_k, n}), right, block(bs, {n, k / 32})},
                              full({m, n}, 1.0, f32)));
        },
        [&](const Bytes& a, const Bytes& as, const Bytes& b, const Bytes& bs, const Floats& out) {
          for (std::int64_t r = 0; r < m; ++r)
            for (std::int64_t c = 0; c < n; ++c) {
              double sum = 1, size = 1;
              for (std::int64_t i = 0; i < k; ++i) {
                const double product = element(left, a, as, r, i, k, false, m) *
                                       element(right, b, bs, c, i, k, true, n);
                sum += product;
                size += std::abs(product);
              }
              ASSERT_NEAR(out[static_cast<std::size_t>(r * n + c)], sum, 1e-6 * size);
            }
        },
        drawn(left, m * left_k, 1), drawn_scales(m * k / 32, 2), drawn(right, right_k * n, 3),
        drawn_scales(n * k / 32, 4), Floats(m * n));
  }
}

TEST(DotScaled, KnowsTheEndsOfScalesAndGoesWithoutThem) {
  // Ones by the identity; the scales of the rows are the least, NaN, the greatest and one.
  Bytes ones(16 * 32, 0x38), scales(16, 127);  // 1 as e4m3
  scales[0] = 0;
  scales[1] = 255;
  scales[2] = 254;
  std::vector<Half> identity(32 * 16);
  for (std::size_t i = 0; i < 16; ++i) identity[i * 16 + i] = Half(1.0F);
  in_every_way(
      [](Pointer a, Pointer as, Pointer b, Pointer out) {
        Tile elements = bitcast(block(a, {16, 32}), f8e4m3);
        put(out, dot_scaled({elements, ScaledFormat::e4m3, block(as, {16, 1})},
                            {block(b, {32, 16}), ScaledFormat::plain}));
      },
      [](const Bytes&, const Bytes&, const std::vector<Half>&, const Floats& out) {
        EXPECT_TRUE(out[0] == 0x1p-127F || out[0] == 0) << out[0];  // tensor cores may drop it
        EXPECT_TRUE(std::isnan(out[16]));
        EXPECT_EQ(out[32], 0x1p127F);
        EXPECT_EQ(out[48], 1);
      },
      ones, scales, identity, Floats(16 * 16));
}

TEST(DotScaled, NamesWhatDoesNotFit) {
  auto error = [](const std::function<void()>& body) {
    return error_of([&] { Kernel("k", [&](Pointer) { body(); }).trace({f32}); });
  };
  EXPECT_THAT(error([] {
                dot_scaled({zeros({8, 32}, f16), ScaledFormat::e4m3},
                           {zeros({32, 8}, bf16), ScaledFormat::plain});
              }),
              testing::HasSubstr("[dot_scaled] a is f16[8x32]; in this format it must be f8e4m3, "
                                 "or its bits as u8, with two axes"));
  EXPECT_THAT(error([] {
                dot_scaled({zeros({8, 32}, bf16), ScaledFormat::plain},
                           {zeros({16, 8}, u8), ScaledFormat::e2m1, zeros({1, 8}, u8)});
              }),
              testing::HasSubstr("[dot_scaled] the scales of b are u8[1x8]; for 8 rows of 32 "
                                 "elements they must be u8, one for each 32 of a row"));
}

}  // namespace
}  // namespace tilewright::dsl::scaled_products_test
