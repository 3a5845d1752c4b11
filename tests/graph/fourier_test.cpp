// Fourier transforms are the sums that define them, at once and compiled, for any number of points.
#include "graph/functions/fourier/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "runtime/base/env.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::fourier_test {
namespace {

using testing_loops::Dice;
using testing_loops::expect_at_once_and_compiled;
using testing_loops::Tensors;
using Numbers = std::vector<std::complex<double>>;

Numbers numbers_of(const Tensor& real, const Tensor& imaginary) {
  const auto a = real.to(f64).to_vector<double>();
  const auto b =
      imaginary.defined() ? imaginary.to(f64).to_vector<double>() : std::vector<double>(a.size());
  Numbers numbers;
  for (std::size_t i = 0; i < a.size(); ++i) numbers.emplace_back(a[i], b[i]);
  return numbers;
}

// The sums, of [outer, n, inner], in f64.
Numbers sums(const Numbers& x, const Shape& shape, double sign, std::int64_t wanted) {
  const std::int64_t n = shape[1], inner = shape[2];
  Numbers roots, y(static_cast<std::size_t>(shape[0] * wanted * inner));
  for (std::int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  for (std::int64_t o = 0; o < shape[0]; ++o)
    for (std::int64_t k = 0; k < wanted; ++k)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < inner; ++i)
          y[static_cast<std::size_t>((o * wanted + k) * inner + i)] +=
              x[static_cast<std::size_t>((o * n + j) * inner + i)] *
              roots[static_cast<std::size_t>(j * k % n)];
  return y;
}

// Some units of the last place in the norm of all results, for each doubling of the points.
void expect_near(const Numbers& got, const Numbers& wanted, std::int64_t points, DType dtype) {
  ASSERT_EQ(got.size(), wanted.size());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += std::norm(got[i] - wanted[i]);
    norm += std::norm(wanted[i]);
  }
  const double epsilon = dtype == f64 ? 2.3e-16 : 1.2e-7;
  EXPECT_LE(std::sqrt(error),
            2 * epsilon * (1 + std::log2(static_cast<double>(points))) * std::sqrt(norm))
      << points << " points";
}

Tensors both(const ComplexTensor& parts) { return {parts.real(), parts.imag()}; }

// All three functions on [2, n, inner], and back again.
void check(std::int64_t n, std::int64_t inner, DType dtype, bool is_compiled, Dice& dice) {
  const Shape shape{2, n, inner};
  const Tensor a = dice.floats(shape).to(dtype), b = dice.floats(shape).to(dtype);
  const FourierOptions back{FourierSign::inverse, 1.0 / static_cast<double>(n)};
  auto all = [&](const Tensors& x) {
    const ComplexTensor whole = fourier({x[0], x[1]}, 1), half = half_fourier(x[0], -2),
                        again = fourier(whole, 1, back);
    return Tensors{whole.real(),
                   whole.imag(),
                   half.real(),
                   half.imag(),
                   again.real(),
                   again.imag(),
                   real_fourier(half, 1, n, back)};
  };
  const Tensors got =
      is_compiled ? CompiledFunction(all, {.fullgraph = true}).call({a, b}) : all({a, b});
  const Numbers x = numbers_of(a, b), real = numbers_of(a, {});
  expect_near(numbers_of(got[0], got[1]), sums(x, shape, -1, n), n, dtype);
  expect_near(numbers_of(got[2], got[3]), sums(real, shape, -1, n / 2 + 1), n, dtype);
  expect_near(numbers_of(got[4], got[5]), x, n, dtype);
  expect_near(numbers_of(got[6], {}), real, n, dtype);
  EXPECT_EQ(got[6].shape(), shape);
}

// To 50, and from there every seventh; TILEWRIGHT_TEST_POINTS says how many are all there are, and
// nightly runs try each.
TEST(SlowFourier, TransformsOfAnyNumberOfPointsAreTheSums) {
  Dice dice(1);
  const std::int64_t all = env::test_points().value_or(50);
  for (std::int64_t n = 1; n <= 300; n += n < all ? 1 : 7)
    check(n, n % 3 == 0 ? 3 : 1, f32, false, dice);
}

TEST(Fourier, CompiledTransformsAreTheSums) {
  Dice dice(2);
  for (std::int64_t n : {1, 2, 3, 8, 30, 64, 65, 96, 100, 127, 131, 169, 224, 289, 300, 512})
    check(n, n % 2 == 0 ? 1 : 5, f32, true, dice);
}

TEST(Fourier, TransformsOfDoublesHaveTheirAccuracy) {
  Dice dice(3);
  for (std::int64_t n : {5, 60, 128, 210, 257, 1000}) check(n, 1, f64, true, dice);
}

TEST(Fourier, LongTransformsAreAccurate) {
  Dice dice(4);
  for (std::int64_t n : {4096, 4099, 6000}) check(n, 1, f32, true, dice);
}

// numpy.fft of [1, 2, 0, -1, 3].
TEST(Fourier, ValuesAreThoseOfNumPy) {
  const std::vector<float> real{5, 3.35410197F, -3.35410197F, -3.35410197F, 3.35410197F},
      imaginary{0, 0.36327126F, 1.53884177F, -1.53884177F, -0.36327126F};
  expect_at_once_and_compiled(
      [](const Tensors& x) {
        return both(fourier({x[0], {}}, 0));
      },
      {Tensor::from(std::vector<float>{1, 2, 0, -1, 3}, {5})},
      [&](const Tensors& got) {
        testing_loops::expect_close(got[0], {5}, real, 1e-6F);
        testing_loops::expect_close(got[1], {5}, imaginary, 1e-6F);
      });
}

TEST(Fourier, BatchesMayHaveAnySize) {
  auto transform = [](const Tensors& x) { return both(half_fourier(x[0], -1)); };
  CompiledFunction fast(transform, {.fullgraph = true, .dynamic = Dynamic::always});
  Dice dice(5);
  for (std::int64_t batch : {3, 1, 7, 0, 20}) {
    const Tensor x = dice.floats({batch, 96});
    const Tensors got = fast.call({x});
    ASSERT_EQ(got[0].shape(), (Shape{batch, 49}));
    expect_near(numbers_of(got[0], got[1]), sums(numbers_of(x, {}), {batch, 96, 1}, -1, 49), 96,
                f32);
  }
}

TEST(Fourier, HalvesAreComputedInWiderOnes) {
  Dice dice(6);
  const Tensor x = dice.floats({2, 80}).to(f16);
  const ComplexTensor got = half_fourier(x, 1);
  EXPECT_EQ(got.real().dtype(), f16);
  const Numbers wanted = sums(numbers_of(x, {}), {2, 80, 1}, -1, 41);
  const Numbers values = numbers_of(got.real(), got.imag());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_LE(std::abs(values[i] - wanted[i]), 1e-3 * (1 + std::abs(wanted[i])));
}

TEST(Fourier, WhatIsNoTransformIsRefused) {
  const Tensor x = ones({2, 6});
  expect_contains(error_of([&] { fourier({x, {}}, 2); }), "[fourier] axis 2 of [2x6]");
  expect_contains(error_of([&] {
                    fourier({x, ones({2, 5})}, 1);
                  }),
                  "[complex] a real part [2x6] with an imaginary one [2x5]; they must broadcast");
  expect_contains(error_of([&] {
                    half_fourier(ones({2, 0}), 1);
                  }),
                  "a transform of 0 points; there must be from 1 to");
  expect_contains(error_of([&] {
                    real_fourier({x, x}, 1, 9);
                  }),
                  "[real_fourier] 6 elements for 9 real results; they need 5");
}

}  // namespace
}  // namespace tilewright::fourier_test
