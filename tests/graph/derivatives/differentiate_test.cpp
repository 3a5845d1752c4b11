// Derivatives of functions as users ask for them: at once, compiled and nested, of structures, with
// further results, and their errors.
#include "graph/differentiating/differentiate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "graph/functions/reducing/norms.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::differentiate_test {
namespace {

using testing_doubles::Doubles;
using testing_doubles::expect_values;
using testing_doubles::values;
using testing_doubles::vector;

Tensor sum_of_squares(const Tensor& x) { return sum(x * x); }

TEST(Differentiate, AGradientIsTheSameAtOnceAndCompiled) {
  const Tensor x = vector({1, -2, 3});
  expect_values(grad(sum_of_squares)(x), {2, -4, 6});
  auto compiled = compile([](const Tensor& t) { return grad(sum_of_squares)(t); });
  expect_values(compiled(x), {2, -4, 6});
  expect_values(compile(grad(sum_of_squares))(x), {2, -4, 6});
  auto [value, gradient] = compile(value_and_grad(sum_of_squares))(x);
  EXPECT_EQ(value.item<double>(), 14);
  expect_values(gradient, {2, -4, 6});
  expect_values(compiled(vector({5, 0, 1})), {10, 0, 2});
}

// x is f32, and one of its uses sums in f64.
TEST(Differentiate, CotangentsOfSeveralDtypesAddUp) {
  const Tensor x = vector({1, -2}).to(f32);
  auto f = [](const Tensor& t) { return sum(t.to(f64)) * sum(t).to(f64); };
  expect_values(grad(f)(x), {-2, -2});
  expect_values(compile([&](const Tensor& t) { return grad(f)(t); })(x), {-2, -2});
}

TEST(Differentiate, DerivativesNest) {
  auto f = [](const Tensor& x) { return sin(x); };
  const Tensor x = Tensor::from(Doubles{0.7}, {});
  auto first = grad(f);
  auto second = grad(first);
  auto third = grad(second);
  EXPECT_NEAR(first(x).item<double>(), std::cos(0.7), 1e-12);
  EXPECT_NEAR(second(x).item<double>(), -std::sin(0.7), 1e-12);
  EXPECT_NEAR(third(x).item<double>(), -std::cos(0.7), 1e-12);
  auto compiled = compile([&](const Tensor& t) { return third(t); });
  EXPECT_NEAR(compiled(x).item<double>(), -std::cos(0.7), 1e-12);
}

struct Parameters {
  Tensor weight;
  std::map<std::string, Tensor> others;
};

TEST(Differentiate, GradientsHaveTheStructureOfTheirArguments) {
  const Parameters p{vector({1, 2}), {{"bias", vector({3, 4})}, {"unused", vector({5, 6})}}};
  auto f = [](const Parameters& q, const Tensor& x) {
    return sum(q.weight * x + q.others.at("bias"));
  };
  const Tensor x = vector({10, 20});
  auto [value, gradients] = value_and_grad(f)(p, x);
  EXPECT_EQ(value.item<double>(), 10 + 3 + 40 + 4);
  expect_values(gradients.weight, {10, 20});
  expect_values(gradients.others.at("bias"), {1, 1});
  expect_values(gradients.others.at("unused"), {0, 0});
  auto [of_p, of_x] = grad<0, 1>(f)(p, x);
  expect_values(of_p.weight, {10, 20});
  expect_values(of_x, {1, 2});
}

TEST(Differentiate, FurtherResultsComeWithTheLoss) {
  auto f = [](const Tensor& x) {
    const Tensor squares = x * x;
    return std::pair{sum(squares), squares};
  };
  auto [results, gradient] = value_and_grad(f)(vector({1, 2}));
  EXPECT_EQ(results.first.item<double>(), 5);
  expect_values(results.second, {1, 4});
  expect_values(gradient, {2, 4});
}

TEST(Differentiate, ArgumentsAreNamedByTheirNumbers) {
  auto f = [](const Tensor& a, const Tensor& b, const Tensor& c) { return sum(a * b * c); };
  const Tensors found = grad(f, {0, 2})(vector({1, 2}), vector({3, 4}), vector({5, 6}));
  ASSERT_EQ(found.size(), 2U);
  expect_values(found[0], {15, 24});
  expect_values(found[1], {3, 8});
}

TEST(Differentiate, PullbacksTakeCotangentsOfTheResult) {
  auto f = [](const Tensor& a, const Tensor& b) { return a * b; };
  auto [value, pullback] = vjp(f, vector({1, 2}), vector({3, 4}));
  expect_values(value, {3, 8});
  auto [of_a, of_b] = pullback(vector({10, 100}));
  expect_values(of_a, {30, 400});
  expect_values(of_b, {10, 200});
}

TEST(Differentiate, DirectionalDerivativesAreThoseOfTheResult) {
  auto f = [](const Tensor& x) { return sin(x) * sum(x); };
  auto [value, tangent] = jvp(f, vector({1, 2}), vector({0.5, -1}));
  expect_values(value, {3 * std::sin(1), 3 * std::sin(2)});
  expect_values(tangent, {3 * std::cos(1) * 0.5 + std::sin(1) * -0.5,
                          3 * std::cos(2) * -1 + std::sin(2) * -0.5});
  auto g = [](const Tensor& a, const Tensor& b) { return a * b; };
  auto both = jvp(g, std::tuple{vector({2}), vector({3})}, std::tuple{vector({1}), vector({10})});
  expect_values(both.second, {3 + 20});
}

TEST(Differentiate, AJacobianHasAnElementForEachPair) {
  auto f = [](const Tensor& x) { return cat({x * x, sum(x).reshape({1})}); };
  const Tensor x = vector({1, 2});
  const Tensor found = jacobian(f)(x);
  EXPECT_EQ(found.shape(), (Shape{3, 2}));
  expect_values(found, {2, 0, 0, 4, 1, 1});
  auto compiled = compile([&](const Tensor& t) { return jacobian(f)(t); });
  expect_values(compiled(x), {2, 0, 0, 4, 1, 1});
}

TEST(Differentiate, HessiansAndTheirProductsAgree) {
  auto f = [](const Tensor& x) { return sum(x * x * x) + prod(x); };
  const Tensor x = vector({1, 2, 3});
  expect_values(hessian(f)(x), {6, 3, 2, 3, 12, 1, 2, 1, 18});
  expect_values(hessian_vector_product(f, x, vector({1, 0, -1})), {4, 2, -16});
  auto compiled =
      compile([&](const Tensor& t, const Tensor& v) { return hessian_vector_product(f, t, v); });
  expect_values(compiled(x, vector({1, 0, -1})), {4, 2, -16});
}

TEST(Differentiate, StoppedTensorsAreConstants) {
  auto f = [](const Tensor& x) { return sum(x * stop_gradient(x)); };
  expect_values(grad(f)(vector({2, 3})), {2, 3});
  const Tensor x = vector({2, 3});
  expect_values(stop_gradient(x), {2, 3});
}

TEST(Differentiate, TheSideOfAChoiceThatIsNotTakenGivesZero) {
  const Tensor x = vector({4, 0, -1});
  auto root = [](const Tensor& t) { return sum(where(t > 0, sqrt(t), t)); };
  expect_values(grad(root)(x), {0.25, 1, 1});
  auto entropy = [](const Tensor& t) { return sum(where(t > 0, t * log(t), 0)); };
  expect_values(grad(entropy)(x), {std::log(4) + 1, 0, 0});
  auto quotient = [](const Tensor& t) { return sum(where(t > 0, 1 / t, 0)); };
  expect_values(grad(quotient)(x), {-1.0 / 16, 0, 0});
  // A row without a finite number, as masks make them, has a softmax of NaN.
  constexpr double none = -std::numeric_limits<double>::infinity();
  const Tensor rows = vector({none, none, 1, 1}).reshape({2, 2}), weights = vector({1, 3});
  auto masked = [&](const Tensor& y, const Tensor& t) {
    return sum(where(amax(t, {1}, true) == none, 0, y) * weights);
  };
  auto shares = [&](const Tensor& t) { return masked(softmax(t, 1), t); };
  expect_values(grad(shares)(rows), {0, 0, -0.5, 0.5});
  auto logarithms = [&](const Tensor& t) { return masked(log_softmax(t, 1), t); };
  expect_values(grad(logarithms)(rows), {0, 0, -1, 1});
  // An infinite slope that is taken is one.
  EXPECT_EQ(values(grad([](const Tensor& t) { return sum(sqrt(t)); })(vector({0})))[0],
            std::numeric_limits<double>::infinity());
}

// The cotangent of a square is 0 where x is, and its own derivative is not.
TEST(Differentiate, SecondDerivativesWhereTheFirstIsZero) {
  auto f = [](const Tensor& x) { return sum(square(x * 3)) / 2; };
  expect_values(hessian_vector_product(f, vector({0, 1}), vector({1, 1})), {9, 9});
}

graph::Graph captured(const std::function<Tensors(const Tensors&)>& f,
                      const std::vector<Shape>& shapes, DType dtype = f32) {
  graph::Capture capture;
  Tensors x;
  for (const Shape& shape : shapes) x.push_back(capture.placeholder(dtype, shape));
  return capture.finish(f(x)).graph;
}
std::ptrdiff_t count_of(const graph::Graph& graph, graph::Op op) {
  return std::ranges::count(graph.nodes, op, &graph::Node::op);
}

TEST(Differentiate, AGradientIsOneNodeWhoseTextReadsBack) {
  const graph::Graph graph =
      captured([](const Tensors& x) -> Tensors { return {grad(sum_of_squares)(x[0])}; }, {{4}});
  ASSERT_EQ(count_of(graph, graph::Op::custom_formula), 1);
  const std::string text = graph::print(graph);
  expect_contains(text, "custom=gradient(inputs=0, outputs=0, body=<");
  const graph::Graph read = graph::parse(text);
  EXPECT_EQ(graph::print(read), text);
  const std::vector<graph::HostTensor> inputs = [] {
    graph::HostTensor x(f32, {4});
    for (int i = 0; i < 4; ++i) x.set_number(i, i);
    return std::vector{x};
  }();
  EXPECT_EQ(graph::evaluate(read, inputs, graph::Rounding::double_).outputs[0].floating,
            (Doubles{0, 2, 4, 6}));
}

// Attention that was written out is formed before it is differentiated.
TEST(Differentiate, WrittenOutAttentionStaysOneAttention) {
  auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor scores = matmul(q, k.transpose(2, 3)) * 0.5;
    return sum(matmul(softmax(scores, 3), v));
  };
  const Shape shape = {1, 2, 6, 4};
  const graph::Graph graph = captured(
      [&](const Tensors& x) -> Tensors {
        auto [value, gradient] = value_and_grad(f)(x[0], x[1], x[2]);
        return {value, gradient};
      },
      {shape, shape, shape});
  EXPECT_EQ(count_of(graph::run_passes(graph), graph::Op::attention), 1);
}

// A mask of numbers would have the value, but not the gradient: scores that are filled have none.
TEST(Differentiate, FilledScoresHaveNoGradient) {
  const Tensor q = Tensor::from(Doubles{1, 2}, {1, 1, 1, 2}),
               k = Tensor::from(Doubles{0.5, 1, -1, 0.3}, {1, 1, 2, 2}),
               v = Tensor::from(Doubles{1, 2, 3, 5}, {1, 1, 2, 2});
  const Tensor all = ones({1, 2}, f32) > 0.0;
  auto f = [&](const Tensor& t) {
    const Tensor scores = matmul(t, k.permute({0, 1, 3, 2}));
    return sum(matmul(softmax(where(all, -1e30, scores), -1), v));
  };
  expect_values(grad(f)(q), {0, 0});
  expect_values(compile(grad(f))(q), {0, 0});
  expect_values(jvp(f, q, q).second, {0});
}

TEST(Differentiate, NothingIsComputedForConstants) {
  auto nodes_of = [](auto f) {
    return graph::run_passes(captured(f, {{4, 4}, {4, 4}})).nodes.size();
  };
  auto loss = [](const Tensor& a, const Tensor& b) { return sum(matmul(a, b)); };
  const graph::Graph one = graph::run_passes(captured(
      [&](const Tensors& x) -> Tensors { return {grad<0>(loss)(x[0], x[1])}; }, {{4, 4}, {4, 4}}));
  EXPECT_EQ(count_of(one, graph::Op::matmul), 1);
  const std::size_t both = nodes_of([&](const Tensors& x) -> Tensors {
    auto [of_a, of_b] = grad<0, 1>(loss)(x[0], x[1]);
    return {of_a, of_b};
  });
  EXPECT_LT(one.nodes.size(), both);
}

TEST(Differentiate, ChoicesAndScansHaveGradients) {
  auto choose = [](const Tensor& x) {
    return cond(
        sum(x) > 0, [](const Tensors& t) -> Tensors { return {sum(t[0] * t[0])}; },
        [](const Tensors& t) -> Tensors { return {sum(t[0] * 3)}; }, {x})[0];
  };
  auto compiled = compile([&](const Tensor& x) { return grad(choose)(x); });
  expect_values(compiled(vector({1, 2})), {2, 4});
  expect_values(compiled(vector({-1, -2})), {3, 3});
  auto loop = [](const Tensor& w, const Tensor& x) {
    auto turn = [&](const Tensors& state, const Tensors& at) -> Turn {
      const Tensor next = tanh(state[0] * w + at[0]);
      return {{next}, {next * next}};
    };
    auto [last, all] = scan(turn, {zeros({2}, f64)}, {x});
    return sum(last[0]) + sum(all[0]);
  };
  auto unrolled = [](const Tensor& w, const Tensor& x) {
    Tensor state = zeros({2}, f64), total;
    for (int i = 0; i < 4; ++i) {
      state = tanh(state * w + x.select(0, i));
      const Tensor squares = sum(state * state);
      total = total.defined() ? total + squares : squares;
    }
    return total + sum(state);
  };
  const Tensor w = vector({0.5, -0.3}),
               x = vector({0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8}).reshape({4, 2});
  auto [of_w, of_x] = grad<0, 1>(unrolled)(w, x);
  auto together = compile([&](const Tensor& a, const Tensor& b) { return grad<0, 1>(loop)(a, b); });
  for (const auto& [got_w, got_x] : {grad<0, 1>(loop)(w, x), together(w, x)}) {
    expect_values(got_w, values(of_w), 1e-12);
    expect_values(got_x, values(of_x), 1e-12);
  }
  auto second = [&](auto f) {
    return grad([f, &x](const Tensor& a) { return sum(grad(f)(a, x)); })(w);
  };
  expect_values(second(loop), values(second(unrolled)), 1e-11);
}

TEST(Differentiate, AnOpWithoutADerivativeIsNamedWithItsLine) {
  auto loop = [](const Tensor& x) {
    return while_loop([](const Tensors& t) { return sum(t[0]) < 10; },
                      [](const Tensors& t) -> Tensors { return {t[0] * 2}; }, {x})[0]
        .reshape({});
  };
  const std::string error = error_of([&] { grad(loop)(vector({1})); });
  expect_contains(error, "[derivative] while_loop at ");
  expect_contains(error, "differentiate_test.cpp");
  expect_contains(error, "is a loop of unknown length, which has no gradient; use scan");
  auto doubled = [](std::span<const BufferView> in, std::span<const BufferView> out) {
    const auto from = in[0].elements<const double>();
    std::ranges::transform(from, out[0].elements<double>().begin(), [](double x) { return 2 * x; });
  };
  const CustomOp twice = custom_op(
      "twice_by_the_host",
      [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; },
      BufferFunction(doubled));
  expect_contains(
      error_of([&] { grad([&](const Tensor& x) { return sum(twice(x)); })(vector({1})); }),
      "[derivative] twice_by_the_host at ");
}

// A cube by C++, and a function with a rule that differs from its own derivative.
TEST(Differentiate, CustomOpsHaveTheRulesThatTheyAreGiven) {
  auto shape_rule = [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; };
  auto cubed = [](std::span<const BufferView> in, std::span<const BufferView> out) {
    const auto from = in[0].elements<const double>();
    std::ranges::transform(from, out[0].elements<double>().begin(),
                           [](double x) { return x * x * x; });
  };
  auto slope = [](std::span<const Tensor> x, std::span<const Tensor>, std::span<const Tensor> g) {
    return Tensors{g[0] * x[0] * x[0] * 3};
  };
  const CustomOp cube =
      custom_op("cube_by_the_host", shape_rule, BufferFunction(cubed), {.derivative = slope});
  auto f = [&](const Tensor& x) { return sum(cube(x)); };
  const Tensor x = vector({1, -2});
  expect_values(grad(f)(x), {3, 12});
  expect_values(hessian_vector_product(f, x, vector({1, 1})), {6, -12});
  auto straight = [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) {
    return Tensors{g[0]};
  };
  const CustomOp rounded =
      custom_op("rounded_straight_through", shape_rule,
                GraphFunction([](std::span<const Tensor> t) { return Tensors{round(t[0])}; }),
                {.derivative = straight});
  expect_values(grad([&](const Tensor& t) { return sum(rounded(t * 2)); })(vector({0.3, 1.7})),
                {2, 2});
  auto wrong = [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) {
    return Tensors{sum(g[0])};
  };
  const CustomOp misshapen =
      custom_op("misshapen_slope", shape_rule, BufferFunction(cubed), {.derivative = wrong});
  expect_contains(
      error_of([&] { grad([&](const Tensor& t) { return sum(misshapen(t)); })(x); }),
      "[misshapen_slope] the derivative gives operand 0 a cotangent scalar, the operand is 2");
}

TEST(Differentiate, MisuseIsAnErrorWithTheLine) {
  const Tensor x = vector({1, 2});
  auto identity = [](const Tensor& t) { return t * 1; };
  expect_contains(error_of([&] { grad(identity)(x); }), "[grad] the function gives f64 2 (at ");
  expect_contains(
      error_of([&] { grad([](const Tensor& t) { return sum(t.to(f64)); })(x.to(i64)); }),
      "[grad] tensor 0 of the arguments is i64");
  expect_contains(error_of([&] { grad(sum_of_squares, {1})(x); }),
                  "[grad] the gradient of argument 1 is asked for, of 1");
  expect_contains(error_of([&] { grad(sum_of_squares)(Tensor()); }), "[grad] there is no tensor");
  auto writing = [](Tensor t) {
    t.add_(1);
    return sum(t);
  };
  expect_contains(error_of([&] { grad(writing)(x); }),
                  "[grad] the function writes an argument in place");
  auto reading = [](const Tensor& t) { return sum(t * t.sum().item<double>()); };
  EXPECT_THROW(compile([&](const Tensor& t) { return grad(reading)(t); }, {.fullgraph = true})(x),
               Error);
}

// It decides by a value of its argument, one that it computes, and one of another tensor.
TEST(Differentiate, AValueThatAFunctionReadsIsAConstant) {
  Tensor limit = vector({4});
  const Tensor x = vector({1, 2}), below = vector({-3, 1}), above = vector({3, 2});
  auto function = [&](const Tensor& t) {
    const Tensor total = t.sum();
    if (total.item<double>() < 0) return sum(t);
    return total.item<double>() > limit.item<double>() ? sum(t * t * t)
                                                       : sum(t * t * total.item<double>());
  };
  auto slope = [&](const Tensor& t) { return grad(function)(t); };
  auto compiled = compile([&](const Tensor& t) { return slope(t * 2) * 0.5; });
  for (int call = 0; call < 2; ++call) {
    expect_values(slope(x), {6, 12});
    expect_values(slope(below), {1, 1});
    expect_values(slope(above), {27, 12});
    expect_values(compiled(x), {6, 24});
    expect_values(compiled(below), {0.5, 0.5});
  }
  limit.copy_from(vector({8}));
  expect_values(slope(above), {30, 20});
  expect_values(compiled(x), {12, 24});
}

// Within derivatives too, of its own argument and of that of the function around.
TEST(Differentiate, ValuesAreReadInDerivativesOfAnyOrder) {
  const Tensor x = vector({1, 2}), below = vector({-3, 1});
  auto function = [](const Tensor& t) {
    return t.sum().item<double>() < 0 ? sum(t * t) : sum(t * t * t * t);
  };
  auto third = [&](const Tensor& t) {
    auto first = grad(function);
    auto second = grad([&](const Tensor& u) {
      const Tensor slope = first(u);
      return sum(slope * t.sum().item<double>() * slope.sum().item<double>());
    });
    return grad([&](const Tensor& u) { return sum(second(u) * t); })(t);
  };
  // t^4: 3 * 36 * sum(24 t_i), by the sums of t and of the slopes, 3 and 36.
  const std::vector<double> right = {3.0 * 36 * 24 * 1 * 1, 3.0 * 36 * 24 * 2 * 2};
  expect_values(third(x), right);
  expect_values(third(below), {0, 0});
  auto compiled = compile([&](const Tensor& t) { return third(t); });
  for (int call = 0; call < 2; ++call) {
    expect_values(compiled(x), right);
    expect_values(compiled(below), {0, 0});
  }
}

// Running statistics move once a call, at once and compiled.
TEST(Differentiate, WhatAFunctionWritesIsWrittenOnce) {
  const Tensor x = vector({1, 3, 5, 7}).reshape({4, 1});
  for (bool compiles : {false, true}) {
    Tensor mean = vector({0}), variance = vector({1});
    auto loss = [&](const Tensor& t) {
      return sum(square(batch_norm(t, mean, variance, {}, {}, true)) * t);
    };
    auto step = [&](const Tensor& t) { return grad(loss)(t); };
    if (compiles)
      compile(step)(x);
    else
      step(x);
    expect_values(mean, {0.4});
  }
}

TEST(Differentiate, DrawsAreThoseOfTheFunction) {
  Generator generator(7);
  auto loss = [&](const Tensor& t) { return sum(t * rand({3}, f32, generator)); };
  Generator again(7);
  const Tensor drawn = rand({3}, f32, again), next = rand({3}, f32, again);
  const Tensor x = vector({1, 2, 3}).to(f32);
  expect_values(grad(loss)(x), values(drawn), 0);
  expect_values(grad(loss)(x), values(next), 0);
}

}  // namespace
}  // namespace tilewright::differentiate_test
