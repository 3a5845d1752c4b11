// Functions that are series or recurrences in a loop: incomplete gamma functions and orthogonal
// polynomials, against closed forms of them; windows of signals.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "graph/functions/signal/signal_windows.h"
#include "graph/functions/special/incomplete_gamma.h"
#include "graph/functions/special/polynomials.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::special_series_test {
namespace {

using testing_loops::expect_at_once_and_compiled;
using testing_loops::Floats;
using testing_loops::Tensors;
using Doubles = std::vector<double>;

// Of whole a: 1 - exp(-x) times the first a terms of the series of exp(x).
double lower_gamma(int a, double x) {
  double term = 1, sum = 0;
  for (int k = 0; k < a; ++k) {
    sum += term;
    term *= x / (k + 1);
  }
  return 1 - std::exp(-x) * sum;
}

TEST(IncompleteGamma, IsThatOfWholeOrders) {
  Doubles a, x, wanted;
  for (int order : {1, 2, 5, 20, 60, 120})
    for (double at : {0.1, 1.0, 4.5, 21.0, 58.0, 63.0, 119.0, 200.0}) {
      a.push_back(order);
      x.push_back(at);
      wanted.push_back(lower_gamma(order, at));
    }
  const Shape shape = {std::ssize(a)};
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        return {igamma(t[0], t[1]), igammac(t[0], t[1])};
      },
      {Tensor::from(a, shape), Tensor::from(x, shape)},
      [&](const Tensors& got) {
        const Doubles lower = got[0].to_vector<double>(), upper = got[1].to_vector<double>();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_NEAR(lower[i], wanted[i], 1e-12) << a[i] << ' ' << x[i];
          EXPECT_NEAR(upper[i], 1 - wanted[i], 1e-12) << a[i] << ' ' << x[i];
        }
      });
}

TEST(IncompleteGamma, HasItsEnds) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Tensor a = Tensor::from(Floats{0, 0, 1, 1, -1, infinity}, {6}),
               x = Tensor::from(Floats{0, 1, 0, infinity, 1, 1}, {6});
  const Floats lower = igamma(a, x).to_vector<float>(), upper = igammac(a, x).to_vector<float>();
  EXPECT_TRUE(std::isnan(lower[0]) && std::isnan(lower[4]));
  EXPECT_EQ((Floats{lower[1], lower[2], lower[3], lower[5]}), (Floats{1, 0, 1, 0}));
  EXPECT_EQ((Floats{upper[1], upper[2], upper[3], upper[5]}), (Floats{0, 1, 0, 1}));
  EXPECT_EQ(igamma(ones({2}, i64), ones({2}, i64)).dtype(), f32);
  expect_contains(error_of([] { igamma(zeros({2}), zeros({3})); }),
                  "[igamma] the operands are [2] and [3]");
}

// By degree, of x in [-1, 1] and beyond.
TEST(Polynomials, AreTheirRecurrences) {
  using Polynomial = Tensor (*)(const TensorOperand&, const TensorOperand&);
  const Doubles points = {-1.5, -1, -0.3, 0, 0.4, 1, 2};
  auto expect = [&](Polynomial f, const std::vector<std::function<double(double)>>& degrees) {
    const Tensor x = Tensor::from(points, {std::ssize(points)});
    for (std::size_t n = 0; n < degrees.size(); ++n) {
      const Doubles got = f(x, static_cast<std::int64_t>(n)).to_vector<double>();
      for (std::size_t i = 0; i < points.size(); ++i)
        EXPECT_NEAR(got[i], degrees[n](points[i]), 1e-12) << n << ' ' << points[i];
    }
  };
  auto one = [](double) { return 1.0; };
  expect(chebyshev_polynomial_t,
         {one, [](double x) { return x; }, [](double x) { return 2 * x * x - 1; },
          [](double x) { return 4 * x * x * x - 3 * x; }});
  expect(chebyshev_polynomial_u,
         {one, [](double x) { return 2 * x; }, [](double x) { return 4 * x * x - 1; }});
  expect(chebyshev_polynomial_v,
         {one, [](double x) { return 2 * x - 1; }, [](double x) { return 4 * x * x - 2 * x - 1; }});
  expect(chebyshev_polynomial_w,
         {one, [](double x) { return 2 * x + 1; }, [](double x) { return 4 * x * x + 2 * x - 1; }});
  expect(shifted_chebyshev_polynomial_t, {one, [](double x) { return 2 * x - 1; },
                                          [](double x) { return 2 * std::pow(2 * x - 1, 2) - 1; }});
  expect(hermite_polynomial_h,
         {one, [](double x) { return 2 * x; }, [](double x) { return 4 * x * x - 2; },
          [](double x) { return 8 * x * x * x - 12 * x; }});
  expect(hermite_polynomial_he,
         {one, [](double x) { return x; }, [](double x) { return x * x - 1; },
          [](double x) { return x * x * x - 3 * x; }});
  expect(laguerre_polynomial_l,
         {one, [](double x) { return 1 - x; }, [](double x) { return (x * x - 4 * x + 2) / 2; }});
  expect(legendre_polynomial_p,
         {one, [](double x) { return x; }, [](double x) { return (3 * x * x - 1) / 2; },
          [](double x) { return (5 * x * x * x - 3 * x) / 2; }});
}

TEST(Polynomials, HaveADegreeForEachElement) {
  const Tensor n = Tensor::from(Floats{-1, 0, 2.9F, 1e6F}, {4});
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors { return {legendre_polynomial_p(0.5, t[0])}; }, {n},
      [](const Tensors& got) {
        const Floats values = got[0].to_vector<float>();
        EXPECT_EQ((Floats{values[0], values[1], values[2]}), (Floats{0, 1, -0.125F}));
        EXPECT_TRUE(std::isnan(values[3]));
      });
  expect_contains(error_of([] { legendre_polynomial_p(1.0, 2); }),
                  "[legendre_polynomial_p] of two numbers");
}

TEST(SignalWindows, AreTheirFormulas) {
  auto expect = [](const Tensor& window, const Doubles& wanted) {
    const Floats got = window.to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6) << i;
  };
  expect(hann_window(4), {0, 0.5, 1, 0.5});
  expect(hann_window(5, {.periodic = false}), {0, 0.5, 1, 0.5, 0});
  expect(hamming_window(4), {0.08, 0.54, 1, 0.54});
  expect(hamming_window(4, {{}, 0.5, 0.5}), {0, 0.5, 1, 0.5});
  expect(blackman_window(4), {0, 0.34, 1, 0.34});
  expect(bartlett_window(4), {0, 0.5, 1, 0.5});
  // i0(12 sqrt(1 - (n / 2 - 1)^2)) / i0(12), of which i0(12) = 18948.9253492963.
  expect(kaiser_window(4),
         {1 / 18948.9253492963, std::cyl_bessel_i(0, 12 * std::sqrt(0.75)) / 18948.9253492963, 1,
          std::cyl_bessel_i(0, 12 * std::sqrt(0.75)) / 18948.9253492963});
  expect(hann_window(1), {1});
  expect(hann_window(1, {.single_is_one = false}), {0});
  EXPECT_EQ(hann_window(0, {.dtype = f64}).dtype(), f64);
  expect_contains(error_of([] { hann_window(-1); }), "[hann_window] a window of -1 elements");
  expect_contains(error_of([] { kaiser_window(2, 1, {.dtype = i64}); }),
                  "[kaiser_window] the dtype is i64");
}

TEST(SignalWindows, OfMelsAreTriangles) {
  const Tensor weights = mel_weight_matrix({4, 16, 8000, 0, 4000});
  EXPECT_EQ(weights.shape(), (Shape{9, 4}));
  const Floats all = weights.to_vector<float>();
  for (int mel = 0; mel < 4; ++mel) {
    float greatest = 0;
    for (int bin = 0; bin < 9; ++bin)
      greatest = std::max(greatest, all[static_cast<std::size_t>(bin * 4 + mel)]);
    EXPECT_EQ(greatest, 1);
  }
  expect_contains(error_of([] {
                    mel_weight_matrix({0, 16, 8000, 0, 4000});
                  }),
                  "[mel_weight_matrix] 0 mels of 16 points");
  expect_contains(error_of([] {
                    mel_weight_matrix({4, 16, 8000, 0, 9000});
                  }),
                  "[mel_weight_matrix] frequencies are beyond half the sample rate");
}

}  // namespace
}  // namespace tilewright::special_series_test
