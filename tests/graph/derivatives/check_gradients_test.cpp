// The check of derivatives that users have for their own rules.
#include "graph/differentiating/check_gradients.h"

#include <gtest/gtest.h>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::check_gradients_test {
namespace {

using testing_doubles::vector;

// x^2 with a rule that gives `factor` x.
CustomOp square_with(double factor) {
  return custom_op("own_square",
                   [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; },
                   GraphFunction([](std::span<const Tensor> x) { return Tensors{x[0] * x[0]}; }),
                   {.derivative = [factor](std::span<const Tensor> x, std::span<const Tensor>,
                                           std::span<const Tensor> g) {
                     return Tensors{g[0] * x[0] * factor};
                   }});
}

TEST(CheckGradients, RightRulesPass) {
  const Tensor x = vector({0.3, -1.2, 2.5});
  check_gradients(square_with(2), x);
  check_gradients([](const Tensor& t) { return softmax(t * 3, 0) * exp(-t); }, x.to(f32));
  check_gradients([](const Tensor& t) { return sum(tanh(t)); }, x.to(bf16));
  auto chosen = [](const Tensors& weights, const Tensor& ids) {
    return std::pair{embedding(ids, weights[0]) * weights[1], ids + 1};
  };
  const Tensors weights = {vector({1, 2, 3, 4}).reshape({2, 2}), vector({-1, 0.5})};
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{1, 0, 1}, {3});
  check_gradients(chosen, std::tuple{weights, ids}, {.directions = 5, .seed = 9});
}

TEST(CheckGradients, AWrongRuleIsNamedWithItsLine) {
  const CustomOp wrong = square_with(3);
  auto f = [&](const Tensor& a, const Tensor& b) {
    const Tensor squares = wrong(b);
    return sum(sin(a) * squares);
  };
  auto check = [&] { check_gradients(f, std::tuple{vector({1, 2}), vector({3, 4})}); };
  const std::string error = error_of(check);
  expect_contains(error, "[check_gradients] tensor 1 of the arguments, in the direction (");
  expect_contains(error, ") of seed 0: the derivative is ");
  expect_contains(error, "they differ by the rule of own_square at ");
  expect_contains(error, "check_gradients_test.cpp");
  EXPECT_EQ(error_of(check), error);
}

// The rule is wrong, not merely rounded: f64 shows an error of a millionth.
TEST(CheckGradients, TheToleranceIsRelative) {
  const Tensor x = vector({1000, 2000}).to(f32);
  check_gradients(square_with(2 * (1 + 1e-7)), x);
  expect_contains(error_of([&] { check_gradients(square_with(2 * (1 + 1e-5)), x); }),
                  "[check_gradients] tensor 0 of the arguments");
  check_gradients(square_with(2 * (1 + 1e-5)), x, {.tolerance = 1e-4});
}

TEST(CheckGradients, KinksAreNotCompared) {
  check_gradients([](const Tensor& t) { return relu(t) + abs(t) * 3; }, vector({0, 0}));
  check_gradients([](const Tensor& t) { return where(t > 0, sqrt(t), 0); }, vector({0, 4}));
}

TEST(CheckGradients, LoopsAreFollowed) {
  auto f = [](const Tensor& x) {
    return while_loop([](const Tensors& t) { return sum(t[0]) < 10; },
                      [&](const Tensors& t) -> Tensors { return {t[0] * x}; }, {x},
                      {.max_turns = 6})[0];
  };
  check_gradients(f, vector({1.5, 1.2}));
}

TEST(CheckGradients, MisuseIsAnErrorWithTheLine) {
  auto f = [](const Tensor& t) { return sum(t); };
  expect_contains(error_of([&] { check_gradients(f, vector({1}), {.directions = 0}); }),
                  "[check_gradients] 0 directions are asked for (at ");
}

}  // namespace
}  // namespace tilewright::check_gradients_test
