// Derivatives through loops whose number of turns depends on values: forwards always, backwards
// where the number has a bound.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::loop_derivatives_test {
namespace {

using testing_doubles::Doubles;
using testing_doubles::expect_values;
using testing_doubles::values;
using testing_doubles::vector;
using Function = std::function<Tensor(const Tensor&)>;

Tensor is_far(const Tensor& y, const Tensor& x) { return sum(abs(y * y - x)) > 1e-13; }
Tensor halfway(const Tensor& y, const Tensor& x) { return (y + x / y) * 0.5; }

// Square roots by Newton's method, of as many steps as they need.
Tensor roots(const Tensor& x) {
  return while_loop([&](const Tensors& y) { return is_far(y[0], x); },
                    [&](const Tensors& y) -> Tensors { return {halfway(y[0], x)}; },
                    {x * 0 + 1})[0];
}
Tensor bounded_roots(const Tensor& x, std::int64_t most) {
  return while_loop([&](const Tensors& y) { return is_far(y[0], x); },
                    [&](const Tensors& y) -> Tensors { return {halfway(y[0], x)}; }, {x * 0 + 1},
                    {.max_turns = most})[0];
}
// The user's own counter, behind what is carried.
Tensor counted_roots(const Tensor& x) {
  return while_loop([&](const Tensors& y) { return logical_and(y[1] <= 30, is_far(y[0], x)); },
                    [&](const Tensors& y) -> Tensors {
                      return {halfway(y[0], x), y[1] + 2};
                    },
                    {x * 0 + 1, full({}, 4, i64)})[0];
}

const Doubles squares = {2, 9, 0.25};
Doubles slopes(double factor) {
  Doubles all;
  for (double x : squares) all.push_back(factor * 0.5 / std::sqrt(x));
  return all;
}

TEST(LoopDerivatives, TangentsGoThroughLoopsOfAnyLength) {
  const Tensor x = vector(squares), direction = full({3}, 2, f64);
  auto compiled = compile([](const Tensor& t, const Tensor& v) { return jvp(roots, t, v); },
                          {.fullgraph = true});
  for (const auto& [value, tangent] : {jvp(roots, x, direction), compiled(x, direction)}) {
    expect_values(value, {std::sqrt(2), 3, 0.5}, 1e-12);
    expect_values(tangent, slopes(2), 1e-7);
  }
}

// A carried integer, and a value of which the loop begins.
TEST(LoopDerivatives, TangentsOfCarriedValuesBeginWithTheirs) {
  auto f = [](const Tensor& x) {
    return while_loop([](const Tensors& t) { return t[0] < 5; },
                      [](const Tensors& t) -> Tensors {
                        return {t[0] + 1, t[1] * t[1] * 0.5};
                      },
                      {full({}, 2, i64), x})[1];
  };
  // ((x^2/2)^2/2)^2/2 = x^8 / 128
  auto [value, tangent] = jvp(f, vector({1, 2}), vector({1, 3}));
  expect_values(value, {1 / 128., 2});
  expect_values(tangent, {8 / 128., 24});
}

TEST(LoopDerivatives, ABoundGivesALoopGradients) {
  const Tensor x = vector(squares);
  const std::function<Tensor(const Tensor&)> functions[] = {
      [](const Tensor& t) { return bounded_roots(t, 20); }, counted_roots};
  for (const auto& f : functions) {
    auto loss = [&](const Tensor& t) { return sum(f(t)) * 3; };
    auto compiled = compile([&](const Tensor& t) { return grad(loss)(t); }, {.fullgraph = true});
    expect_values(f(x), {std::sqrt(2), 3, 0.5}, 1e-12);
    expect_values(grad(loss)(x), slopes(3), 1e-7);
    expect_values(compiled(x), slopes(3), 1e-7);
    auto [value, pullback] = vjp(f, x);
    expect_values(value, {std::sqrt(2), 3, 0.5}, 1e-12);
    expect_values(pullback(full({3}, 1, f64)), slopes(1), 1e-7);
  }
}

// Turns after the end change nothing, in no derivative.
TEST(LoopDerivatives, GradientsAreThoseOfTheTurnsThatRan) {
  auto f = [](const Tensor& x) {
    return sum(while_loop([](const Tensors& t) { return sum(t[0]) < 10; },
                          [&](const Tensors& t) -> Tensors { return {t[0] * x}; }, {x},
                          {.max_turns = 9})[0]);
  };
  auto cube = [](const Tensor& x) { return sum(x * x * x); };  // 1 + 8 is below 10 after two turns
  auto fourth = [](const Tensor& x) { return sum(x * x * x * x); };
  const Tensor x = vector({1, 2});
  expect_values(grad(f)(x), values(grad(fourth)(x)));
  expect_values(hessian(f)(x), values(hessian(fourth)(x)));
  const Tensor y = vector({2, 2});
  expect_values(grad(f)(y), values(grad(cube)(y)));
}

TEST(LoopDerivatives, ABoundEndsALoop) {
  auto f = [](const Tensor& x) {
    return while_loop([](const Tensors& t) { return sum(t[0]) < 1e9; },
                      [](const Tensors& t) -> Tensors { return {t[0] * 2}; }, {x},
                      {.max_turns = 3})[0];
  };
  const Tensor x = vector({1, 2});
  expect_values(f(x), {8, 16});
  expect_values(compile(f)(x), {8, 16});
  auto loss = [&](const Tensor& t) { return sum(f(t)); };
  expect_values(grad(loss)(x), {8, 8});
  const std::string error = error_of([&] {
    while_loop([](const Tensors& t) { return t[0] < 1; },
               [](const Tensors& t) -> Tensors { return t; }, {x}, {.max_turns = 0});
  });
  expect_contains(error, "[while_loop] max_turns is 0 (at ");
}

TEST(LoopDerivatives, LoopsBehindAStopNeedNoBound) {
  const Tensor x = vector(squares);
  auto after = [](const Tensor& t) { return sum(t * stop_gradient(roots(t))); };
  auto before = [](const Tensor& t) { return sum(t * roots(stop_gradient(t))); };
  expect_values(grad(after)(x), {std::sqrt(2), 3, 0.5});
  expect_values(grad(before)(x), {std::sqrt(2), 3, 0.5});
  auto [value, tangent] = jvp(before, x, full({3}, 1, f64));
  EXPECT_NEAR(tangent.item<double>(), std::sqrt(2) + 3.5, 1e-9);
}

TEST(LoopDerivatives, AnUnboundedLoopIsAnErrorWithItsLine) {
  auto loss = [](const Tensor& t) { return sum(roots(t)); };
  const std::string error = error_of([&] { grad(loss)(vector(squares)); });
  expect_contains(error, "[derivative] while_loop at ");
  expect_contains(error, "loops_test.cpp");
  expect_contains(error, "bound them (WhileOptions::max_turns)");
  // A counter that starts at a value of the call is no bound.
  auto counted = [](const Tensor& t) {
    return sum(while_loop([](const Tensors& s) { return s[1] < 3; },
                          [](const Tensors& s) -> Tensors {
                            return {s[0] * 2, s[1] + 1};
                          },
                          {t, sum(t).to(i64)})[0]);
  };
  expect_contains(error_of([&] { grad(counted)(vector(squares)); }), "is a loop of unknown length");
}

}  // namespace
}  // namespace tilewright::loop_derivatives_test
