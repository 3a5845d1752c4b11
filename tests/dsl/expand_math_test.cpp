#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dsl/ir/builder.h"
#include "dsl/language/tile.h"
#include "dsl/passes/passes.h"
#include "tests/dsl/expanded_math.h"

namespace tilewright::dsl::expand_math_test {
namespace {

using namespace testing_math;

class ExpandMath : public testing::TestWithParam<std::tuple<Op, const char*>> {
 protected:
  static Op op() { return std::get<0>(GetParam()); }
  static ir::Function expanded(DType dtype = DType::f32) {
    return expand_math_test::expanded(op(), std::get<1>(GetParam()), dtype);
  }
};

// 2.1 million numbers.
TEST_P(ExpandMath, IsWithinTwoUlpOverAllOfF32) {
  ir::Function f = expanded();
  Worst worst = worst_of_every(2053, f, op());
  RecordProperty("max_ulp", std::to_string(worst.ulp));
  std::printf("%-8s worst %.3f ulp at %.9g\n", std::string(ir::info(op()).name).c_str(), worst.ulp,
              worst.at);
  EXPECT_LE(worst.ulp, 2) << "at " << std::hexfloat << worst.at;
}

// Where functions are used most: equal steps between -40 and 40, and between 0 and 2.
TEST_P(ExpandMath, IsWithinTwoUlpWhereItIsUsedMost) {
  ir::Function f = expanded();
  Worst worst;
  for (auto [low, high] : {std::pair{-40.0, 40.0}, {0.0, 2.0}, {-105.0, 90.0}, {-1e5, 1e5}}) {
    std::vector<float> x(block);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(low + (high - low) * (static_cast<double>(i) + 0.37) / block);
    auto y = run(f, x);
    for (std::size_t i = 0; i < x.size(); ++i) worst.see(x[i], y[i], reference(op(), x[i]));
  }
  EXPECT_LE(worst.ulp, 2) << "at " << std::hexfloat << worst.at;
}

TEST_P(ExpandMath, IsRightAtZerosInfinitiesAndNan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(block, 1);
  std::vector<float> special{0.0F,       -0.0F,     infinity, -infinity, NAN,      0x1p-149F,
                             -0x1p-149F, 0x1p-126F, -1.0F,    3.4e38F,   -3.4e38F, 1.0F};
  std::copy(special.begin(), special.end(), x.begin());
  auto y = run(expanded(), x);
  for (std::size_t i = 0; i < special.size(); ++i) {
    auto truth = static_cast<float>(reference(op(), x[i]));
    EXPECT_LE(error_in_ulp(y[i], reference(op(), x[i])), 2) << "at " << x[i] << " is " << y[i];
    if (truth == 0 && !std::isnan(y[i])) {
      EXPECT_EQ(std::signbit(y[i]), std::signbit(truth)) << "at " << x[i];
    }
  }
}

TEST_P(ExpandMath, OfSixteenBitTypesIsTheRoundedF32Result) {
  auto compare = [&](auto zero) {
    using T = decltype(zero);
    ir::Function f = expanded(dtype_of<T>());
    std::vector<T> x(block);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<std::uint16_t>(i);
    auto y = run(f, x), expected = run(mapped(op(), dtype_of<T>()), x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto got = static_cast<float>(y[i]), want = static_cast<float>(expected[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got));
      } else {  // a tie may fall to the other side
        EXPECT_LE(std::abs(y[i].bits - expected[i].bits), 1) << static_cast<float>(x[i]);
      }
    }
  };
  compare(Half{});
  compare(BFloat16{});
}

INSTANTIATE_TEST_SUITE_P(Functions, ExpandMath,
                         testing::Combine(testing::Values(Op::exp_, Op::exp2_, Op::log_, Op::log2_,
                                                          Op::sin_, Op::cos_, Op::tanh_, Op::erf_,
                                                          Op::sigmoid_, Op::rsqrt_),
                                          testing::ValuesIn(hosts)),
                         [](const testing::TestParamInfo<std::tuple<Op, const char*>>& i) {
                           return std::string(ir::info(std::get<0>(i.param)).name) + "_" +
                                  std::get<1>(i.param);
                         });

// In f64, a host takes sines from its C library, and without fused multiplication everything.
TEST(ExpandMathPass, LeavesSomeOfF64ToTheHostAndOtherOperationsAlone) {
  auto expands = [](Op op, DType dtype, const char* host) {
    ir::Function f = mapped(op, dtype);
    return expand_math(f, target_named(host));
  };
  for (const char* host : {"avx512", "avx2"}) {
    EXPECT_TRUE(expands(Op::exp_, DType::f64, host)) << host;
    EXPECT_FALSE(expands(Op::sin_, DType::f64, host)) << host;
    EXPECT_FALSE(expands(Op::cos_, DType::f64, host)) << host;
    EXPECT_FALSE(expands(Op::sqrt_, DType::f32, host)) << host;
  }
  EXPECT_FALSE(expands(Op::exp_, DType::f64, "sse"));
}

}  // namespace
}  // namespace tilewright::dsl::expand_math_test
