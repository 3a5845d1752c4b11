// explain() of functions with derivatives: the values that are kept for them, and by which rules
// they are made.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/functions/pooling/pooling.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::saved_values_test {
namespace {

using testing_doubles::vector;
using Tensors = std::vector<Tensor>;

bool has_rule(const DerivativeReport& report, const std::string& op, const std::string& rule) {
  return std::ranges::any_of(
      report.rules, [&](const DerivativeRule& each) { return each.op == op && each.rule == rule; });
}

TEST(SavedValues, AreThoseThatTheDerivativeReads) {
  auto loss = [](const Tensor& x, const Tensor& w) {
    const Tensor h = tanh(matmul(x, w));  // kept, for itself and for the product with w below
    return sum(matmul(h, w) + 1);
  };
  auto fast = compile(grad<0, 1>(loss), {.fullgraph = true});
  fast(zeros({4, 8}, f32), zeros({8, 8}, f32));
  const DerivativeReport report = fast.report()[0].derivatives.at(0);
  ASSERT_EQ(report.saved.size(), 1U);
  EXPECT_EQ(report.saved[0].op, "tanh");
  EXPECT_EQ(report.saved[0].shape, (Shape{4, 8}));
  EXPECT_EQ(report.saved[0].bytes, 4 * 8 * 4);
  EXPECT_EQ(report.saved_bytes, 128);
  EXPECT_EQ(report.inputs, 2);  // x and w
  expect_contains(report.saved[0].where, "saved_values_test.cpp:");
  EXPECT_TRUE(has_rule(report, "matmul", "of the op"));
  const std::string text = fast.explain();
  expect_contains(text, "  derivative at saved_values_test.cpp:");
  expect_contains(text, ": keeps 1 value of the function, 128 B, and reads 2 of its inputs\n");
  expect_contains(text, "    128 B  f32 4x8  tanh at saved_values_test.cpp:");
  expect_contains(text, "    by the rule of the op: matmul, 2 times\n");
}

TEST(SavedValues, RulesAreNamedByTheirHomes) {
  const CustomOp own = custom_op(
      "own_double", [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; },
      GraphFunction([](std::span<const Tensor> x) { return Tensors{x[0] * 2}; }),
      {.derivative = [](std::span<const Tensor>, std::span<const Tensor>,
                        std::span<const Tensor> g) { return Tensors{g[0] * 2}; }});
  const CustomOp plain = custom_op(
      "plain_triple", [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; },
      GraphFunction([](std::span<const Tensor> x) { return Tensors{x[0] * 3}; }));
  auto loss = [&](const Tensor& x) {
    const Tensor pooled = max_pool2d(own(plain(x)).reshape({1, 1, 2, 2}), 2);
    return sum(pooled * stop_gradient(exp(x).slice(0, 0, 1)));
  };
  auto fast = compile(grad(loss));
  fast(vector({1, 2, 3, 4}).to(f32));
  const DerivativeReport report = fast.report()[0].derivatives.at(0);
  EXPECT_TRUE(has_rule(report, "own_double", "the program's own"));
  EXPECT_TRUE(has_rule(report, "plain_triple", "of its formula"));
  EXPECT_TRUE(has_rule(report, "max_pool2d", "of the function"));
}

TEST(SavedValues, CheckpointsKeepTheirArguments) {
  auto block = [](const Tensor& x) { return sin(exp(cos(x) * x)); };
  auto marked = [again = checkpoint(block)](const Tensor& x) { return sum(again(again(x))); };
  auto plain = [block](const Tensor& x) { return sum(block(block(x))); };
  const Tensor x = vector({1, 2, 3, 4}).to(f32);
  auto report_of = [&](auto loss) {
    auto fast = compile(grad(loss));
    fast(x);
    return fast.report()[0].derivatives.at(0);
  };
  const DerivativeReport kept = report_of(plain), again = report_of(marked);
  EXPECT_EQ(again.saved.size(), 1U);  // what the second block takes
  EXPECT_EQ(again.computed_again, 2);
  EXPECT_GE(kept.saved.size(), 4U);
  EXPECT_EQ(kept.computed_again, 0);
}

TEST(SavedValues, FunctionsWithoutDerivativesHaveNone) {
  auto fast = compile([](const Tensor& x) { return exp(x); });
  fast(vector({1}));
  EXPECT_TRUE(fast.report()[0].derivatives.empty());
  EXPECT_EQ(fast.explain().find("derivative"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::saved_values_test
