// Expanded functions of f64 are within two units in the last place, and right at special numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "dsl/ir/builder.h"
#include "dsl/ir/verify.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/passes.h"
#include "tests/dsl/expanded_math.h"

namespace tilewright::dsl::expand_math_of_double_test {
namespace {

using namespace testing_math;

class ExpandMathOfDouble : public testing::TestWithParam<Op> {
 protected:
  std::vector<double> results(const std::vector<double>& x) { return run(function_, x); }
  void expect_two_ulp(const std::vector<double>& x) {
    auto y = results(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      double error = error_in_ulp(y[i], wide_reference(GetParam(), x[i]));
      ASSERT_LE(error, 2) << "at " << std::hexfloat << x[i] << " is " << y[i];
    }
  }

 private:
  ir::Function function_ = [] {
    ir::Function f = mapped(GetParam(), DType::f64);
    EXPECT_TRUE(expand_math(f, target_named("sm_80")));
    ir::verify(f);
    EXPECT_FALSE(expand_math(f, target_named("sm_80")));
    return f;
  }();
};

TEST_P(ExpandMathOfDouble, IsWithinTwoUlpOverAllOfF64) {
  std::mt19937_64 patterns(1);
  std::vector<double> x(block);
  for (int turn = 0; turn < 4; ++turn) {
    for (double& element : x) element = std::bit_cast<double>(patterns());
    expect_two_ulp(x);
  }
}

TEST_P(ExpandMathOfDouble, IsWithinTwoUlpWhereItIsUsedMost) {
  std::vector<double> x(block);
  for (auto [low, high] :
       {std::pair{-7.0, 7.0}, {0.0, 2.0}, {-40.0, 40.0}, {-750.0, 720.0}, {-1e9, 1e9}}) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = low + (high - low) * (static_cast<double>(i) + 0.37) / block;
    expect_two_ulp(x);
  }
}

TEST_P(ExpandMathOfDouble, IsRightAtZerosInfinitiesAndNan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // The one before the last is the f64 that is nearest to a multiple of pi/2.
  std::vector<double> special{0.0,       -0.0,      infinity,   -infinity,
                              NAN,       0x1p-1074, -0x1p-1074, -1.0,
                              0x1p-1022, 1.7e308,   -1.7e308,   0x1.6ac5b262ca1ffp849,
                              1.0};
  std::vector<double> x(block, 1);
  std::copy(special.begin(), special.end(), x.begin());
  expect_two_ulp(x);
  auto y = results(x);
  for (std::size_t i = 0; i < special.size(); ++i) {
    long double truth = wide_reference(GetParam(), x[i]);
    if (truth == 0) {
      EXPECT_EQ(std::signbit(y[i]), std::signbit(truth)) << "at " << x[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ExpandMathOfDouble,
                         testing::Values(Op::exp_, Op::exp2_, Op::log_, Op::log2_, Op::sin_,
                                         Op::cos_, Op::tanh_, Op::erf_, Op::sigmoid_, Op::rsqrt_),
                         [](const auto& i) { return std::string(ir::info(i.param).name); });

}  // namespace
}  // namespace tilewright::dsl::expand_math_of_double_test
