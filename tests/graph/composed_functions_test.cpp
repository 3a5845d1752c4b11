// Functions of other functions under PyTorch's names: distances, slopes, products, norms of
// instances, draws, and functions of one element, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/differentiating/differentiate.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/gamma.h"
#include "graph/functions/pointwise/special.h"
#include "graph/functions/random/distributions.h"
#include "graph/functions/reducing/differences.h"
#include "graph/functions/reducing/distances.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/products.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"
#include "tests/graph/function_values.h"

namespace tilewright::composed_functions_test {
namespace {

using testing_loops::expect_at_once_and_compiled;
using testing_loops::expect_near;
using testing_loops::Floats;
using testing_loops::Integers;
using testing_loops::Tensors;

Tensor floats(const Floats& elements, const Shape& shape) { return Tensor::from(elements, shape); }

TEST(ComposedFunctions, DistancesAreOfAllPairs) {
  const Tensor a = floats({0, 0, 3, 4}, {2, 2}), b = floats({0, 0, 3, 0, 6, 8}, {3, 2});
  expect_near([](const Tensors& t) -> Tensors { return {cdist(t[0], t[1])}; }, {a, b}, {2, 3},
              {0, 3, 10, 5, 4, 5});
  expect_near([](const Tensors& t) -> Tensors { return {pdist(t[0], 1)}; }, {b}, {3}, {3, 14, 11});
  EXPECT_EQ(pdist(zeros({1, 2})).shape(), Shape{0});
  expect_contains(error_of([&] { cdist(a, zeros({3, 5})); }), "[cdist] the operands are [2x2] and");
  expect_contains(error_of([&] { pdist(zeros({2})); }), "[pdist] x is [2]");
}

TEST(ComposedFunctions, SlopesAreExactForParabolas) {
  const Tensor places = floats({0, 1, 3, 4}, {4}), y = floats({0, 1, 9, 16}, {4});
  expect_near(
      [](const Tensors& t) -> Tensors {
        return {gradient(t[0], {.places = {t[1]}, .edge_order = 2})[0]};
      },
      {y, places}, {4}, {0, 2, 6, 8});
  expect_near([](const Tensors& t) -> Tensors { return {gradient(t[0], {.steps = {2}})[0]}; },
              {floats({0, 2, 8}, {3})}, {3}, {1, 2, 3});
  EXPECT_EQ(gradient(zeros({3, 4})).size(), 2U);
  EXPECT_EQ(gradient(zeros({3, 4}, i64), {.axes = {-1}})[0].dtype(), f32);
  expect_near([](const Tensors& t) -> Tensors { return {cumulative_trapezoid(t[0], 2.0)}; },
              {floats({1, 3, 5}, {3})}, {2}, {4, 12});
  expect_near([](const Tensors& t) -> Tensors { return {cumulative_trapezoid(t[0], t[1], 0)}; },
              {floats({1, 3, 5, 7}, {2, 2}), floats({0, 3}, {2})}, {1, 2}, {9, 15});
  expect_contains(error_of([&] { gradient(y, {.edge_order = 3}); }),
                  "[gradient] the edge order is 3");
  expect_contains(error_of([&] { gradient(zeros({1})); }), "[gradient] along 1 elements");
  expect_contains(error_of([&] {
                    gradient(y, {.steps = {1, 2}});
                  }),
                  "[gradient] 2 spacings of 1 axes");
}

TEST(ComposedFunctions, ProductsAreOfSeveralMatrices) {
  const Tensor a = floats({1, 2}, {1, 2}), b = floats({1, 0, 0, 3}, {2, 2});
  EXPECT_EQ(linalg_multi_dot({a, b, b}).to_vector<float>(), (Floats{1, 18}));
  EXPECT_EQ(linalg_vecdot(b, b).to_vector<float>(), (Floats{1, 9}));
  EXPECT_EQ(linalg_vander(floats({2, 3}, {2}), 3).to_vector<float>(), (Floats{1, 2, 4, 1, 3, 9}));
  EXPECT_EQ(linalg_vander(floats({2, 3}, {2})).shape(), (Shape{2, 2}));
  expect_contains(error_of([&] { linalg_multi_dot({a}); }), "[linalg_multi_dot] 1 matrices");
  expect_contains(error_of([&] { linalg_vander(a, 0); }), "[linalg_vander] 0 powers");
}

TEST(ComposedFunctions, InstancesMoveWhatWasLearned) {
  const Tensor x = floats({1, 3, 5, 5}, {2, 1, 2});
  Tensor mean = zeros({1}), variance = ones({1});
  const Tensor y = instance_norm(x, mean, variance, {}, {}, true, {.momentum = 0.5, .eps = 0});
  EXPECT_EQ(y.to_vector<float>()[0], -1);
  EXPECT_EQ(mean.item<float>(), 1.75F);
  EXPECT_EQ(variance.item<float>(), 1);
  EXPECT_NEAR(instance_norm(x, mean, variance, {}, {}, false).to_vector<float>()[1], 1.25F, 1e-4F);
  EXPECT_EQ(weight_norm(floats({3, 4, 6, 8}, {2, 2}), floats({5, 1}, {2, 1})).to_vector<float>(),
            (Floats{3, 4, 0.6F, 0.8F}));
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(safe_softmax(floats({none, none, 0, 0}, {2, 2}), 1).to_vector<float>(),
            (Floats{0, 0, 0.5F, 0.5F}));
  // A row that sees nothing has no slope; softmax's own derivative there is NaN.
  auto first = [](const Tensor& x) { return sum(safe_softmax(x, 1).select(1, 0)); };
  EXPECT_EQ(grad(first)(floats({none, none, 0, 0}, {2, 2})).to_vector<float>(),
            (Floats{0, 0, 0.25F, -0.25F}));
}

TEST(ComposedFunctions, DrawsFollowTheirDistributions) {
  auto mean_of = [](const Tensor& x) { return mean(x.to(f64)).item<double>(); };
  constexpr std::int64_t count = 20000;
  const Generator generator = [] {
    Generator g;
    g.manual_seed(7);
    return g;
  }();
  EXPECT_NEAR(mean_of(exponential({count}, 4, f32, generator)), 0.25, 0.01);
  EXPECT_NEAR(mean_of(geometric({count}, 0.25, f32, generator)), 4, 0.1);
  EXPECT_NEAR(mean_of(cauchy({count}, 1, 2, f32, generator) < 1.0), 0.5, 0.02);
  EXPECT_NEAR(mean_of(log(log_normal({count}, 1, 2, f32, generator))), 1, 0.06);
  EXPECT_EQ(exponential({3}, 1, f64, generator).dtype(), f64);
  const Tensor weights = floats({0, 1, 3}, {3});
  const Tensor drawn = multinomial(weights, count, true, generator);
  EXPECT_NEAR(mean_of(drawn == 2), 0.75, 0.02);
  EXPECT_NEAR(mean_of(drawn == 0), 0, 0);
  auto both = multinomial(weights, 2, false, generator).to_vector<std::int64_t>();
  std::ranges::sort(both);
  EXPECT_EQ(both, (Integers{1, 2}));
  expect_contains(error_of([] { exponential({1}, 0); }), "[exponential] the rate is 0");
  expect_contains(error_of([] { geometric({1}, 1); }), "[geometric] p is 1");
  expect_contains(error_of([&] { multinomial(weights, 4); }),
                  "[multinomial] 4 draws of 3 elements");
  expect_contains(error_of([&] {
                    multinomial(zeros({1, 1, 1}), 1);
                  }),
                  "[multinomial] the weights are f32 [1x1x1]");
}

TEST(ComposedFunctions, PartsOfFloatsMultiplyToThem) {
  for (DType dtype : {f32, f64}) {
    const Tensor x = floats({0, -0.0F, 1, -3, 0.5F, 1e30F, 1e-40F, INFINITY}, {8}).to(dtype);
    expect_at_once_and_compiled(
        [](const Tensors& t) -> Tensors {
          auto [m, e] = frexp(t[0]);
          return {m, e};
        },
        {x},
        [&](const Tensors& got) {
          const auto m = got[0].to(f64).to_vector<double>(), given = x.to(f64).to_vector<double>();
          const auto e = got[1].to_vector<std::int32_t>();
          for (std::size_t i = 0; i < m.size(); ++i) {
            int exponent = 0;
            const double mantissa = std::frexp(given[i], &exponent);
            EXPECT_EQ(m[i], mantissa) << given[i];
            EXPECT_EQ(e[i], std::isfinite(given[i]) ? exponent : 0) << given[i];
          }
        });
  }
  expect_contains(error_of([] { frexp(zeros({1}, i64)); }), "[frexp] the operand is i64");
}

TEST(ComposedFunctions, ElementsHaveAnglesAndEntropies) {
  using testing_values::expect_unary;
  expect_unary<float>([](const Tensor& x) { return angle(x); },
                      [](long double x) -> long double {
                        return std::isnan(x) ? x : x < 0 ? std::numbers::pi_v<float> : 0;
                      },
                      {}, testing_values::arguments<float>());
  expect_unary<float>([](const Tensor& x) { return entr(x); },
                      [](long double x) -> long double {
                        if (std::isnan(x)) return x;
                        return x == 0 ? 0 : x < 0 ? -INFINITY : -x * std::log(x);
                      },
                      {.units = 8, .absolute = 1e-6}, testing_values::arguments<float>());
  expect_unary<float>([](const Tensor& x) { return xlog1py(x, 3.0); },
                      [](long double x) { return x == 0 ? 0 : x * std::log1p(3.0L); }, {.units = 8},
                      testing_values::arguments<float>());
  expect_near(
      [](const Tensors& t) -> Tensors {
        return {
            xlog1py(0.0, t[0]),
        };
      },
      {floats({-2, 1}, {2})}, {2}, {0, 0});
  EXPECT_NEAR(mvlgamma(floats({3}, {1}), 2).item<float>(),
              0.5 * std::log(std::numbers::pi) + std::lgamma(3.0) + std::lgamma(2.5), 1e-5);
  expect_contains(error_of([] { mvlgamma(zeros({1}), 0); }), "[mvlgamma] p is 0");
}

}  // namespace
}  // namespace tilewright::composed_functions_test
