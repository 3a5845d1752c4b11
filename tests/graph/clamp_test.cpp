// Clamping of floats and integers: the order of the bounds, what does not fit the dtype, promotion.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright::clamp_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();
const float none = std::numeric_limits<float>::quiet_NaN();

TEST(Functions, ClampTakesTheUpperBoundLast) {
  Tensor x = Tensor::from(Floats{-2, 0.5F, 3, none, infinity}, {5});
  auto both = [](const Tensor& t) { return clamp(t, -1, 1.5); };
  for (const Tensor& y : {both(x), compile(both)(x)}) {
    Floats got = y.to_vector<float>();
    EXPECT_EQ(Floats(got.begin(), got.begin() + 3), (Floats{-1, 0.5F, 1.5F}));
    EXPECT_TRUE(std::isnan(got[3]));
    EXPECT_EQ(got[4], 1.5F);
  }
  EXPECT_EQ(clamp(x.slice(0, 0, 3), 2, 1).to_vector<float>(), (Floats{1, 1, 1}));
  EXPECT_EQ(clamp(x.slice(0, 0, 3), {}, 1).to_vector<float>(), (Floats{-2, 0.5F, 1}));
  for (float bound : clamp(x, none).to_vector<float>()) EXPECT_TRUE(std::isnan(bound));
}

// A limit that elements cannot reach limits nothing.
TEST(Functions, ClampDoesNotWrapIntegersOutsideTheRange) {
  Tensor bytes = Tensor::from<std::int8_t>({-128, -3, 0, 127}, {4});
  using Bytes = std::vector<std::int8_t>;
  EXPECT_EQ(clamp(bytes, {}, 300).to_vector<std::int8_t>(), (Bytes{-128, -3, 0, 127}));
  EXPECT_EQ(clamp(bytes, -300, 300).to_vector<std::int8_t>(), (Bytes{-128, -3, 0, 127}));
  EXPECT_EQ(clamp(bytes, -300, 5).to_vector<std::int8_t>(), (Bytes{-128, -3, 0, 5}));
  Tensor naturals = Tensor::from<std::uint8_t>({0, 7, 255}, {3});
  using Naturals = std::vector<std::uint8_t>;
  EXPECT_EQ(clamp(naturals, -5).to_vector<std::uint8_t>(), (Naturals{0, 7, 255}));
  EXPECT_EQ(clamp(naturals, -5, 256).to_vector<std::uint8_t>(), (Naturals{0, 7, 255}));
  auto both = [](const Tensor& t) { return clamp(t, -300, 300); };
  EXPECT_EQ(compile(both)(bytes).to_vector<std::int8_t>(), (Bytes{-128, -3, 0, 127}));
}

TEST(Functions, ClampBoundsIntegersOf64Bits) {
  using Naturals = std::vector<std::uint64_t>;
  Tensor naturals = Tensor::from(Naturals{0, 5, UINT64_MAX}, {3});
  EXPECT_EQ(clamp(naturals, 3, 7).to_vector<std::uint64_t>(), (Naturals{3, 5, 7}));
  Tensor integers = Tensor::from(Integers{INT64_MIN, 5, INT64_MAX}, {3});
  EXPECT_EQ(clamp(integers, 3, 7).to_vector<std::int64_t>(), (Integers{3, 5, 7}));
}

TEST(Functions, ClampPromotesItsOperands) {
  Tensor x = Tensor::from(Integers{-5, 0, 9}, {3});
  EXPECT_EQ(clamp(x, 0, 4).to_vector<std::int64_t>(), (Integers{0, 0, 4}));
  EXPECT_EQ(clamp(x, 0.5).to_vector<float>(), (Floats{0.5F, 0.5F, 9}));
  Tensor bounds = Tensor::from(Integers{1, 2}, {2, 1});
  EXPECT_EQ(clamp(x, bounds).to_vector<std::int64_t>(), (Integers{1, 1, 9, 2, 2, 9}));
  expect_contains(error_of([&] { clamp(x, {}); }), "[clamp] neither bound is given");
}

}  // namespace
}  // namespace tilewright::clamp_test
