// Functions of Bessel and Airy against the standard library's, and against known values.
#include "graph/functions/pointwise/bessel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/graph/function_values.h"

namespace tilewright::bessel_test {
namespace {

using namespace testing_values;
using Number = long double;

template <typename T>
class Bessel : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Bessel, Types);

template <typename T>
std::vector<T> around_borders() {
  std::vector<T> x = {0, infinity<T>, none<T>};
  for (T each = T(0.001); each < 60; each += T(0.317)) x.push_back(each);
  for (double border : {2.0, 8.0})
    for (double away : {-1e-6, 0.0, 1e-6}) x.push_back(static_cast<T>(border + away));
  return x;
}
template <typename T>
std::vector<T> with_negatives(std::vector<T> x) {
  for (std::size_t i = x.size(); i-- > 0;) x.push_back(-x[i]);
  return x;
}

// An absolute error beside a unit: near zeros that of the function around them.
template <typename T>
Bound bound() {
  return {2, sizeof(T) == 4 ? 1e-12 : 2e-14};
}

TYPED_TEST(Bessel, OfTheFirstKind) {
  const auto x = with_negatives(around_borders<TypeParam>());
  auto known = [](Number order, Number t) -> Number {
    if (std::isnan(t)) return t;
    if (std::isinf(t)) return 0;
    const Number value = std::cyl_bessel_j(order, std::abs(t));
    return t < 0 && order == 1 ? -value : value;
  };
  expect_unary<TypeParam>([](const Tensor& t) { return bessel_j0(t); },
                          [&](Number t) { return known(0, t); }, bound<TypeParam>(), x);
  expect_unary<TypeParam>([](const Tensor& t) { return bessel_j1(t); },
                          [&](Number t) { return known(1, t); }, bound<TypeParam>(), x);
}

TYPED_TEST(Bessel, OfTheSecondKind) {
  auto x = around_borders<TypeParam>();
  x.push_back(-1);
  auto known = [](Number order, Number t) -> Number {
    if (std::isnan(t) || t < 0) return none<Number>;
    if (t == 0) return -infinity<Number>;
    return std::isinf(t) ? 0 : std::cyl_neumann(order, t);
  };
  // Where the value is large, a few units of it.
  Bound b = bound<TypeParam>();
  b.units = 8;
  expect_unary<TypeParam>([](const Tensor& t) { return bessel_y0(t); },
                          [&](Number t) { return known(0, t); }, b, x);
  expect_unary<TypeParam>([](const Tensor& t) { return bessel_y1(t); },
                          [&](Number t) { return known(1, t); }, b, x);
}

TYPED_TEST(Bessel, Modified) {
  const auto x = around_borders<TypeParam>();
  const Bound b{sizeof(TypeParam) == 4 ? 1.5 : 256};
  auto of = [](auto function, Number at_zero, Number at_infinity) {
    return [=](Number t) -> Number {
      if (std::isnan(t)) return t;
      return t == 0 ? at_zero : std::isinf(t) ? at_infinity : function(t);
    };
  };
  expect_unary<TypeParam>(
      [](const Tensor& t) { return i1(t); },
      of([](Number t) { return std::cyl_bessel_i(1.0L, t); }, 0, infinity<Number>), b, x);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return i0e(t); },
      of([](Number t) { return std::cyl_bessel_i(0.0L, t) * std::exp(-t); }, 1, 0), b, x);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return i1e(t); },
      of([](Number t) { return std::cyl_bessel_i(1.0L, t) * std::exp(-t); }, 0, 0), b, x);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return modified_bessel_k0(t); },
      of([](Number t) { return std::cyl_bessel_k(0.0L, t); }, infinity<Number>, 0), b, x);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return modified_bessel_k1(t); },
      of([](Number t) { return std::cyl_bessel_k(1.0L, t); }, infinity<Number>, 0), b, x);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return scaled_modified_bessel_k0(t); },
      of([](Number t) { return std::cyl_bessel_k(0.0L, t) * std::exp(t); }, infinity<Number>, 0), b,
      x);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return scaled_modified_bessel_k1(t); },
      of([](Number t) { return std::cyl_bessel_k(1.0L, t) * std::exp(t); }, infinity<Number>, 0), b,
      x);
}

// Ai(x) is made of K of order 1/3 above 0, and of J below.
TYPED_TEST(Bessel, Airy) {
  auto known = [](Number t) -> Number {
    if (std::isnan(t)) return t;
    if (std::isinf(t)) return 0;
    const Number third = 1.0L / 3, a = std::abs(t), v = 2 * third * a * std::sqrt(a);
    if (t == 0) return 0.355028053887817239260063186L;
    if (t > 0)
      return std::sqrt(a * third) / std::numbers::pi_v<Number> * std::cyl_bessel_k(third, v);
    // J of -1/3 by J and Y of 1/3.
    const Number j = std::cyl_bessel_j(third, v), y = std::cyl_neumann(third, v);
    const Number angle = third * std::numbers::pi_v<Number>;
    return std::sqrt(a) * third * (j + std::cos(angle) * j - std::sin(angle) * y);
  };
  std::vector<TypeParam> x = {0, 2, -8, infinity<TypeParam>, -infinity<TypeParam>, none<TypeParam>};
  for (TypeParam each = TypeParam(-20.05); each < 12; each += TypeParam(0.173)) x.push_back(each);
  expect_unary<TypeParam>(
      [](const Tensor& t) { return airy_ai(t); }, known,
      {sizeof(TypeParam) == 4 ? 1.5 : 512.0, sizeof(TypeParam) == 4 ? 1e-10 : 1e-13}, x);
}

TYPED_TEST(Bessel, Spherical) {
  const auto x = with_negatives(around_borders<TypeParam>());
  expect_unary<TypeParam>([](const Tensor& t) { return spherical_bessel_j0(t); },
                          [](Number t) -> Number {
                            if (std::isinf(t)) return 0;
                            return t == 0 ? 1 : std::sin(t) / t;
                          },
                          bound<TypeParam>(), x);
}

}  // namespace
}  // namespace tilewright::bessel_test
