// A derivative runs its function once, also where it has several parts: random draws and writes of
// the function happen once a call, and values and derivatives belong to the same draws.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "graph/functions/reducing/norms.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::one_evaluation_test {
namespace {

using testing_doubles::Doubles;
using testing_doubles::expect_values;
using testing_doubles::values;
using testing_doubles::vector;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensor&)>;

// The results of the function at once and compiled.
void expect_both(const std::function<Function()>& make, const Tensor& x,
                 const std::function<void(const Tensors&)>& expect) {
  expect(make()(x));
  auto compiled = compile(make(), {.fullgraph = true});
  expect(compiled(x));
}

TEST(OneEvaluation, APullbackUsesTheDrawsOfTheResult) {
  const Tensor x = vector({1, 2, 3});
  Generator again(7);
  const Tensor first = rand({3}, f32, again), second = rand({3}, f32, again);
  for (bool compiles : {false, true}) {
    Generator generator(7);
    auto f = [&](const Tensor& t) { return t * rand({3}, f32, generator); };
    const Function both = [&](const Tensor& t) {
      auto [value, pullback] = vjp(f, t);
      const Tensor ones = full({3}, 1, f64);
      return Tensors{value / t, pullback(ones), pullback(ones * 2)};
    };
    auto compiled = compile(both, {.fullgraph = true});
    for (const Tensor& drawn : {first, second}) {
      const Tensors got = compiles ? compiled(x) : both(x);
      expect_values(got[0], values(drawn), 1e-15);
      expect_values(got[1], values(drawn), 0);
      expect_values(got[2], values(drawn * 2), 0);
    }
  }
}

// Each derivative with the running mean that it leaves, of a function whose batch norm moves it.
TEST(OneEvaluation, WritesHappenOnceACall) {
  const Tensor x = vector({1, 3, 5, 7}).reshape({4, 1});
  using OfLoss = std::function<void(const std::function<Tensor(const Tensor&)>&, const Tensor&)>;
  const std::map<std::string, OfLoss> derivatives = {
      {"vjp",
       [](const auto& f, const Tensor& t) {
         auto [value, pullback] = vjp(f, t);
         pullback(value);
         pullback(value);
       }},
      {"jvp", [](const auto& f, const Tensor& t) { jvp(f, t, t); }},
      {"jacobian", [](const auto& f, const Tensor& t) { jacobian(f)(t); }},
      {"hessian", [](const auto& f, const Tensor& t) { hessian(f)(t); }},
      {"hessian_vector_product",
       [](const auto& f, const Tensor& t) { hessian_vector_product(f, t, t); }},
  };
  for (const auto& [name, derivative] : derivatives) {
    SCOPED_TRACE(name);
    int runs = 0;
    Tensor mean = vector({0}), variance = vector({1});
    auto loss = [&](const Tensor& t) {
      ++runs;
      return sum(square(batch_norm(t, mean, variance, {}, {}, true)) * t);
    };
    derivative(loss, x);
    EXPECT_EQ(runs, 1);
    expect_values(mean, {0.4}, 1e-15);
  }
}

TEST(OneEvaluation, APullbackReadsWhatTheFunctionReadBeforeItWrote) {
  const Tensor x = vector({1, 2});
  Tensor state = vector({3, 4});
  const auto make = [&]() -> Function {
    return [&](const Tensor& t) {
      auto f = [&](const Tensor& u) {
        const Tensor product = u * state;
        state.copy_from(state * 10);
        return product;
      };
      auto [value, pullback] = vjp(f, t);
      return Tensors{value, pullback(full({2}, 1, f64))};
    };
  };
  expect_both(make, x, [&](const Tensors& got) {
    expect_values(got[0], {3, 8});
    expect_values(got[1], {3, 4});
    expect_values(state, {30, 40});
    state.copy_from(vector({3, 4}));
  });
}

TEST(OneEvaluation, JacobiansUseOneDrawForAllRows) {
  const Tensor x = vector({1, 2, 3});
  Generator again(11);
  const Doubles drawn = values(rand({3}, f32, again));
  const auto make = [&]() -> Function {
    return [generator = std::make_shared<Generator>(11)](const Tensor& t) {
      return Tensors{jacobian([&](const Tensor& u) { return u * rand({3}, f32, *generator); })(t)};
    };
  };
  expect_both(make, x, [&](const Tensors& got) {
    expect_values(got[0], {drawn[0], 0, 0, 0, drawn[1], 0, 0, 0, drawn[2]}, 0);
  });
}

TEST(OneEvaluation, PullbacksOfSeveralResultsAndStructures) {
  struct Parameters {
    Tensor weight;
    Tensors biases;
  };
  const Parameters p{vector({2, 3}), {vector({1, 1})}};
  auto f = [](const Parameters& q, const Tensor& x) {
    return std::pair{q.weight * x + q.biases[0], (x > 1).to(i64)};
  };
  const Tensor x = vector({1, 5});
  auto [result, pullback] = vjp(f, p, x);
  expect_values(result.first, {3, 16});
  expect_values(result.second, {0, 1});
  auto [of_p, of_x] = pullback({vector({1, 10}), result.second});
  expect_values(of_p.weight, {1, 50});
  expect_values(of_p.biases[0], {1, 10});
  expect_values(of_x, {2, 30});
}

// A pullback is differentiated like any function.
TEST(OneEvaluation, PullbacksHaveDerivatives) {
  auto f = [](const Tensor& x) { return x * x * x; };
  auto through = [&](const Tensor& x) {
    auto [value, pullback] = vjp(f, x);
    return sum(pullback(value));  // 3 x^2 * x^3
  };
  const Tensor x = vector({1, 2});
  expect_values(grad(through)(x), {15, 15 * 16});
  auto compiled = compile([&](const Tensor& t) { return grad(through)(t); });
  expect_values(compiled(x), {15, 15 * 16});
}

// A compiled function is a part of the derivative, which may be compiled itself.
TEST(OneEvaluation, CompiledFunctionsHaveDerivatives) {
  const Tensor x = vector({1, -2, 3});
  auto f = compile([](const Tensor& t) { return sum(t * t * t); });
  EXPECT_EQ(f(x).item<double>(), 1 - 8 + 27);
  expect_values(grad(f)(x), {3, 12, 27});
  const auto [value, gradient] = value_and_grad(f)(x);
  EXPECT_EQ(value.item<double>(), 1 - 8 + 27);
  expect_values(gradient, {3, 12, 27});
  auto both = compile(value_and_grad(f), {.fullgraph = true});
  expect_values(both(x).second, {3, 12, 27});
  EXPECT_EQ(both.report().size(), 1U);
  expect_values(hessian(f)(x), {6, 0, 0, 0, -12, 0, 0, 0, 18});
  auto g = compile([](const Tensors& weights, const Tensor& t) { return sum(weights[0] * t); });
  const Tensors weights = {vector({1, 2, 3})};
  expect_values(grad(g)(weights, x)[0], {1, -2, 3});
}

}  // namespace
}  // namespace tilewright::one_evaluation_test
