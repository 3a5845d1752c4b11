// Functions made of several ops run as one operation, captured once for what they depend on.
#include "graph/functions/pointwise/formula.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/special.h"
#include "graph/tensor/eager_plans.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::formula_test {
namespace {

using Floats = std::vector<float>;

Tensor three(float a) { return Tensor::from(Floats{a, -1, 0.25F}, {3, 1}); }

std::int64_t plans_of(const std::function<Tensor()>& function) {
  const std::int64_t before = graph::eager_plans();
  function();
  return graph::eager_plans() - before;
}

// More plans are kept than a whole run of tests makes.
TEST(Formulas, AreOnePlanEach) {
  Setting plans("TILEWRIGHT_KEPT_PLANS", "100000"), code("TILEWRIGHT_KEPT_CODE_MIB", "4000");
  Tensor x = three(0.5F).expand({3, 11});
  EXPECT_EQ(plans_of([&] { return erfinv(x); }), 1);
  EXPECT_EQ(plans_of([&] { return erfinv(x); }), 0);
  EXPECT_EQ(plans_of([&] { return erfinv(x.slice(1, 0, 5)); }), 1);
  Tensor whole = x.to(i32).clone();
  EXPECT_EQ(plans_of([&] { return gcd(whole, whole); }), 1);
}

TEST(Formulas, DependOnTheirSettings) {
  Tensor x = three(2);
  EXPECT_EQ(leaky_relu(x, 0.5).to_vector<float>(), (Floats{2, -0.5F, 0.25F}));
  EXPECT_EQ(leaky_relu(x, 0.25).to_vector<float>(), (Floats{2, -0.25F, 0.25F}));
  EXPECT_EQ(pow(x, 2).to_vector<float>(), (Floats{4, 1, 0.0625F}));
  EXPECT_EQ(pow(x, 3).to_vector<float>(), (Floats{8, -1, 0.015625F}));
  EXPECT_EQ(add(x.to(i64), 1, 2).to_vector<std::int64_t>()[0], 4);
  EXPECT_EQ(add(x.to(i64), 1, std::int64_t{1} << 62).to_vector<std::int64_t>()[0],
            2 + (std::int64_t{1} << 62));
  EXPECT_EQ(add(x.to(i64), 1, (std::int64_t{1} << 62) + 1).to_vector<std::int64_t>()[0],
            3 + (std::int64_t{1} << 62));
}

// A number among the operands is data.
TEST(Formulas, TakeNumbersAsOperands) {
  Tensor x = three(2);
  EXPECT_EQ(hypot(x, 0).to_vector<float>(), (Floats{2, 1, 0.25F}));
  EXPECT_EQ(plans_of([&] { return hypot(x, 1.5); }), 0);
  EXPECT_EQ(hypot(x, 1.5).to_vector<float>()[0], 2.5F);
}

TEST(Formulas, AreRecordedInCaptures) {
  auto function = [](const Tensor& x) { return leaky_relu(atan2(x, 1), 0.5); };
  Tensor x = three(2);
  const Floats wanted = function(x).to_vector<float>();
  auto compiled = compile(function);
  compiled(x);
  EXPECT_EQ(plans_of([&] { return compiled(x); }), 0);
  EXPECT_EQ(compiled(x).to_vector<float>(), wanted);
}

TEST(Formulas, NameTheFunctionInMessages) {
  expect_contains(error_of([] { hypot(ones({2}), ones({3})); }), "[hypot] shapes do not broadcast");
  expect_contains(error_of([] { mish(Tensor()); }), "[mish] the operand is no defined tensor");
  expect_contains(error_of([] { hypot(ones({2}), ones({3})); }), "at formula_test.cpp");
}

}  // namespace
}  // namespace tilewright::formula_test
