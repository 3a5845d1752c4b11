// Activations against their formulas in long double, eager and compiled.
#include "graph/functions/pointwise/activations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/errors.h"
#include "tests/graph/function_values.h"

namespace tilewright::activations_test {
namespace {

using namespace testing_values;
using Floats = std::vector<float>;
using Number = long double;

Number clamped(Number x, Number low, Number high) {
  return std::isnan(x) ? x : std::clamp(x, low, high);
}

void expect_values(const std::function<Tensor(const Tensor&)>& function,
                   const std::function<Number(Number)>& wanted) {
  // Numbers that are not normal have lost digits before they are multiplied.
  expect_unary<float>(function, wanted, {6, 1e-42}, arguments<float>(1e-20F, 1e20F));
}

TEST(Activations, OfStraightPieces) {
  expect_values([](const Tensor& x) { return hardtanh(x); },
                [](Number x) { return clamped(x, -1, 1); });
  expect_values([](const Tensor& x) { return relu6(x); },
                [](Number x) { return clamped(x, 0, 6); });
  expect_values([](const Tensor& x) { return leaky_relu(x, 0.25); },
                [](Number x) { return x > 0 ? x : x / 4; });
  expect_values([](const Tensor& x) { return hardsigmoid(x); },
                [](Number x) { return clamped(static_cast<float>(x) + 3.0F, 0, 6) / 6; });
  expect_values([](const Tensor& x) { return hardswish(x); },
                [](Number x) { return x * clamped(static_cast<float>(x) + 3.0F, 0, 6) / 6; });
  expect_values([](const Tensor& x) { return hardshrink(x, 0.75); },
                [](Number x) { return std::abs(x) <= 0.75L ? 0 : x; });
  expect_values([](const Tensor& x) { return softshrink(x, 0.25); },
                [](Number x) { return x > 0.25L    ? x - 0.25L
                                      : x < -0.25L ? x + 0.25L
                                                   : x * 0; });
  expect_values([](const Tensor& x) { return threshold(x, 0.5, -7); },
                [](Number x) { return x <= 0.5L ? -7 : x; });
}

TEST(Activations, OfExponentials) {
  auto unit = [](Number alpha, Number scale, Number inner) {
    return [=](Number x) { return x > 0 ? scale * x : scale * alpha * std::expm1(x * inner); };
  };
  expect_values([](const Tensor& x) { return elu(x, 1.5, 2, 0.5); }, unit(1.5L, 2, 0.5L));
  expect_values([](const Tensor& x) { return selu(x); },
                unit(1.6732632423543772848L, 1.0507009873554804934L, 1));
  expect_values([](const Tensor& x) { return celu(x, 2); }, unit(2, 1, 0.5L));
  expect_values([](const Tensor& x) { return softsign(x); },
                [](Number x) { return std::isinf(x) ? none<Number> : x / (1 + std::abs(x)); });
  expect_values([](const Tensor& x) { return mish(x); },
                [](Number x) { return x > 50 ? x : x * std::tanh(std::log1p(std::exp(x))); });
  expect_values([](const Tensor& x) { return logsigmoid(x); },
                [](Number x) {
                  return std::isnan(x) ? x : std::fmin(x, 0) - std::log1p(std::exp(-std::abs(x)));
                });
}

TEST(Activations, PreluHasASlopeAChannel) {
  Tensor x = Tensor::from(Floats{-1, 2, -3, -4, 5, -6}, {1, 3, 2});
  Tensor weight = Tensor::from(Floats{0.5F, 2, 0.25F}, {3});
  auto function = [](const Tensor& t, const Tensor& w) { return prelu(t, w); };
  const Floats wanted = {-0.5F, 2, -6, -8, 5, -1.5F};
  EXPECT_EQ(function(x, weight).to_vector<float>(), wanted);
  EXPECT_EQ(compile(function)(x, weight).to_vector<float>(), wanted);
  EXPECT_EQ(prelu(x.reshape({6}), weight.slice(0, 0, 1)).to_vector<float>()[2], -1.5F);
  expect_contains(error_of([&] { prelu(x, weight.slice(0, 0, 2)); }), "[prelu] the weight is 2");
}

TEST(Activations, GluGatesTheFirstHalf) {
  Tensor x = Tensor::from(Floats{1, -2, 0, 40, 3, 4, 1, -1}, {2, 4});
  auto function = [](const Tensor& t) { return glu(t); };
  auto gate = [](float g) { return 1 / (1 + std::exp(-g)); };
  const Floats wanted = {0.5F, -2, 3 * gate(1), 4 * gate(-1)};
  for (const Tensor& y : {function(x), compile(function)(x)}) {
    EXPECT_EQ(y.shape(), (Shape{2, 2}));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y.to_vector<float>()[i], wanted[i], 1e-6F);
  }
  EXPECT_EQ(glu(x, 0).shape(), (Shape{1, 4}));
  expect_contains(error_of([&] { glu(x.slice(1, 0, 3)); }), "[glu] axis 1 of shape 2x3 has size 3");
}

TEST(Activations, RefuseWhatIsNotFloating) {
  Tensor whole = Tensor::from<std::int64_t>({-9, 4}, {2});
  EXPECT_EQ(relu6(whole).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(threshold(whole, 0, 3).to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 4}));
  expect_contains(error_of([&] { elu(whole); }), "[elu] the operand is i64");
  expect_contains(error_of([&] { celu(whole, 0); }), "[celu] alpha is 0");
  expect_contains(error_of([&] { softshrink(whole, -1); }), "[softshrink] lambd is -1");
}

TEST(Activations, AreRoundedOnceFrom16Bits) {
  Tensor x = column(arguments<float>(1e-3F, 10)).to(bf16).slice(0, 13, 40);
  for (const auto& function : {mish, selu, hardswish, logsigmoid, softsign})
    EXPECT_EQ(function(x).to(f32).to_vector<float>(),
              function(x.to(f32)).to(bf16).to(f32).to_vector<float>());
}

}  // namespace
}  // namespace tilewright::activations_test
