// Plans of a compiled function that those of other sizes interpolate: they compute what a plan for
// the size alone does, and what is not alike is made afresh.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/sizes/interpolated.h"
#include "runtime/base/error.h"
#include "tests/graph/many_sizes.h"
#include "tests/tensors.h"

namespace tilewright::interpolated_plans_test {
namespace {

using namespace testing_sizes;

// Each interpolated plan is made afresh as well, and compared.
class InterpolatedPlans : public ::testing::Test {
 protected:
  InterpolatedPlans() { graph::verify_interpolated(true); }
  ~InterpolatedPlans() override { graph::verify_interpolated(false); }
};

// The ends first, so that most of the others lie between two that came before.
const SizeList lengths = {100, 250, 48, 180, 130, 64, 210, 77,
                          128, 129, 96, 191, 200, 51, 240, 149};

struct Function {
  const char* name;
  Tensor (*of)(const Tensor& x);
  std::int64_t least_interpolated;  // of the lengths
};

Tensor normed(const Tensor& x) { return x * rsqrt(mean(x * x, {-1}, true) + 1e-5); }

Tensor attending(const Tensor& x) {
  const std::int64_t length = x.size(0);
  Tensor heads = normed(x).reshape({1, length, 3, 16}).permute({0, 2, 1, 3});
  Tensor mask = (arange(0, length) < length - 5).reshape({1, 1, 1, length});
  Tensor mixed = scaled_dot_product_attention(heads, heads, heads * 0.5, {.mask = mask});
  return x + mixed.permute({0, 2, 1, 3}).reshape({length, 48});
}
Tensor feeding(const Tensor& x) {
  return x + matmul(gelu(matmul(normed(x), sin(ramp({48, 80})))), cos(ramp({80, 48})) * 0.1);
}

const Function functions[] = {
    {"pointwise", [](const Tensor& x) { return gelu(x * 2) + 1; }, 8},
    {"a layer that feeds forward", feeding, 8},
    {"attention", attending, 8},
    {"six layers",
     [](const Tensor& x) {
       Tensor y = x;
       for (int i = 0; i < 6; ++i) y = feeding(attending(y));
       return y;
     },
     8},
    {"numbers of the length",
     [](const Tensor& x) {
       return x * arange(0, x.size(0)).reshape({-1, 1}) - x.size(0);
     },
     8},
    {"a mean over the length", [](const Tensor& x) { return mean(x, {0}); }, 0},
    {"a part and the rest",
     [](const Tensor& x) {
       return cat({x.slice(0, 7, x.size(0)) * 2, x.slice(0, 0, 7)}, 0) + x;
     },
     6},
    {"a matrix of all pairs",
     [](const Tensor& x) { return softmax(matmul(x, x.transpose(0, 1)), -1); }, 0},
    {"another function from 128 on",
     [](const Tensor& x) {
       return x.size(0) < 128 ? relu(x) : matmul(x, sin(ramp({48, 48})));
     },
     2},
    {"another function of odd lengths",
     [](const Tensor& x) { return x.size(0) % 2 == 0 ? x * 2 : exp(x); }, 0},
    {"a share of the length",
     [](const Tensor& x) { return x.slice(0, 0, x.size(0) / 3) * (1.0 / x.size(0)); }, 0},
};

TEST_F(InterpolatedPlans, ComputeWhatPlansOfOneSizeDo) {
  for (const Function& function : functions) {
    Compiled many = compile(function.of, on_host(Dynamic::always));
    for (std::int64_t length : lengths) {
      SCOPED_TRACE(concat(function.name, " of ", length));
      const Tensor x = rows_of(length, 48), result = many(x);
      // Programs for one size take their time to compile.
      if (length != lengths.back() && length != lengths.end()[-3]) continue;
      Compiled alone = compile(function.of, on_host(Dynamic::never));
      expect_same(result, alone(x));
    }
    const std::vector<PlanReport> reports = many.report();
    const auto interpolated = std::ranges::count_if(reports, [](const PlanReport& report) {
      return report.sizes.find("interpolate") != std::string::npos;
    });
    EXPECT_GE(interpolated, function.least_interpolated) << function.name;
  }
}

// Axes of two sizes: lines along each.
TEST_F(InterpolatedPlans, ComputeWhatPlansOfOneSizeDoForBatches) {
  Compiled many =
      compile([](const Tensor& x) { return softmax(x * 2 + 1, -1); }, on_host(Dynamic::always));
  for (std::int64_t batch : {2, 3, 5, 9, 4})
    for (std::int64_t length : {20, 90, 40, 60, 50, 33}) {
      SCOPED_TRACE(concat(batch, " x ", length));
      const Tensor x = sin(ramp({batch, length, 40}));
      expect_same(many(x), softmax(x * 2 + 1, -1));
    }
}

// A size that was planned, and dropped since, is interpolated too.
TEST_F(InterpolatedPlans, AreMadeAgainFromTheirOwnSample) {
  Options options = on_host(Dynamic::always);
  options.max_sizes = 1;
  Compiled many = compile(feeding, options);
  for (std::int64_t length : {61, 83, 61})
    expect_same(many(rows_of(length, 48)), feeding(rows_of(length, 48)));
  EXPECT_NE(many.explain().find("interpolated from plans of other sizes"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::interpolated_plans_test
