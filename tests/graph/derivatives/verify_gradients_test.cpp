// Compiled functions that look into their derivatives and their results: Options::verify_gradients
// and detect_nan.
#include <gtest/gtest.h>

#include <limits>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::verify_gradients_test {
namespace {

using testing_doubles::expect_values;
using testing_doubles::vector;

CustomOp cube_with(double factor) {
  return custom_op(
      "own_cube", [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; },
      GraphFunction([](std::span<const Tensor> x) { return Tensors{x[0] * x[0] * x[0]}; }),
      {.derivative = [factor](std::span<const Tensor> x, std::span<const Tensor>,
                              std::span<const Tensor> g) {
        return Tensors{g[0] * square(x[0]) * factor};
      }});
}

TEST(VerifyGradients, ARightRulePassesAtEachCall) {
  const CustomOp cube = cube_with(3);
  auto fast = compile(grad([&](const Tensor& x) { return sum(cube(tanh(x))); }),
                      {.fullgraph = true, .verify_gradients = 1});
  const Tensor x = vector({0.5, -1}).to(f32);
  for (int i = 0; i < 3; ++i) fast(x);
}

TEST(VerifyGradients, AWrongRuleIsFoundAtTheNthCall) {
  const CustomOp cube = cube_with(2);
  auto loss = [&](const Tensor& x) { return sum(cube(tanh(x))); };
  const Tensor x = vector({0.5, -1}).to(f32);
  auto fast = compile(grad(loss), {.verify_gradients = 3});
  fast(x);
  fast(x);
  const std::string error = error_of([&] { fast(x); });
  expect_contains(error, "[compile] verify_gradients: the derivative at ");
  expect_contains(error, " by its input 0 in the direction (");
  expect_contains(error, "they differ by the rule of own_cube at verify_gradients_test.cpp");
  auto pulled = compile(
      [&](const Tensor& t) {
        auto [value, pullback] = vjp(loss, t);
        return pullback(value);
      },
      {.verify_gradients = 1});
  expect_contains(error_of([&] { pulled(x); }), "by the rule of own_cube");
}

// A step that writes its parameters compares at the values before it.
TEST(VerifyGradients, StepsThatWriteAreCompared) {
  Tensor weight = vector({0.5, -0.25});
  auto step = compile(
      [&](const Tensor& x) {
        auto [loss, slope] =
            value_and_grad([&](const Tensor& w) { return sum(tanh(w * x)); })(weight);
        weight.copy_from(weight - slope * 0.1);
        return loss;
      },
      {.fullgraph = true, .verify_gradients = 1, .detect_nan = true});
  for (int i = 0; i < 3; ++i) step(vector({1, 2}));
  EXPECT_LT(weight.to_vector<double>()[0], 0.5);
}

TEST(VerifyGradients, GradientsInLoopsAreNotCompared) {
  const CustomOp cube = cube_with(2);
  auto f = [&](const Tensor& x) {
    auto turn = [&](const Tensors& s, const Tensors&) -> Turn {
      return {{grad([&](const Tensor& t) { return sum(cube(t)); })(s[0])}, {}};
    };
    return scan(turn, {x}, {}, {.turns = 2}).first[0];
  };
  auto fast = compile(f, {.tell_unkept = false, .verify_gradients = 1});
  fast(vector({1, 2}));
  expect_contains(fast.explain(), "Options::verify_gradients does not hold: ");
}

TEST(VerifyGradients, ItsNumberIsChecked) {
  expect_contains(
      error_of([] { compile([](const Tensor& x) { return x; }, {.verify_gradients = -1}); }),
      "[compile] verify_gradients is -1");
}

TEST(DetectNan, TheFirstLineForwardIsNamed) {
  constexpr int line = __LINE__ + 3;
  auto f = [](const Tensor& x) {
    const Tensor low = x - 1;
    const Tensor root = sqrt(low);
    return exp(root) * 2;
  };
  auto fast = compile(f, {.detect_nan = true});
  fast(vector({2, 3}));
  const std::string error = error_of([&] { fast(vector({2, 0})); });
  expect_contains(error, "[compile] detect_nan: result 0 has a NaN; the first is made by sqrt at ");
  expect_contains(error, concat("verify_gradients_test.cpp:", line));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_contains(error_of([&] { fast(vector({2, nan})); }), "the first is made by input 0");
}

// NaN of the sides that are not taken are none.
TEST(DetectNan, ChoicesLeaveNanOut) {
  auto f = [](const Tensor& x) {
    const Tensor safe = where(x > 0, log(x), 0);
    return safe + sqrt(x - 10);
  };
  auto fast = compile(f, {.detect_nan = true});
  expect_contains(error_of([&] { fast(vector({-1, 20})); }), "the first is made by sqrt at ");
  auto gradient = compile(grad([](const Tensor& x) { return sum(where(x > 0, sqrt(x), x)); }),
                          {.detect_nan = true});
  expect_values(gradient(vector({0, 4})), {1, 0.25});
}

// sqrt has an infinite slope at 0, and the slope of the square there is 0.
TEST(DetectNan, TheFirstLineBackwardIsNamed) {
  auto loss = [](const Tensor& x) { return sum(sqrt(square(x))); };
  auto fast = compile(value_and_grad(loss), {.detect_nan = true});
  fast(vector({2, 3}));
  const std::string error = error_of([&] { fast(vector({2, 0})); });
  expect_contains(error, "the first is made by the derivative of ");
  expect_contains(error, "verify_gradients_test.cpp");
}

}  // namespace
}  // namespace tilewright::verify_gradients_test
