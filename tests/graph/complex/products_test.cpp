// Products and reductions of complex tensors are the sums and products of their elements.
#include "graph/functions/complex/products.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/reductions.h"
#include "tests/errors.h"
#include "tests/graph/complex/complex_numbers.h"

namespace tilewright::complex_products_test {
namespace {

using namespace testing_complex;
using ::testing::HasSubstr;

// [m, k] x [k, n].
Numbers product_of(const Numbers& a, const Numbers& b, std::size_t m, std::size_t k,
                   std::size_t n) {
  Numbers y(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l) y[i * n + j] += a[i * k + l] * b[l * n + j];
  return y;
}

TEST(ComplexProducts, OfMatricesAreSumsOfProducts) {
  Dice dice(1);
  const Numbers a = random_numbers(dice, 6), b = random_numbers(dice, 12);
  const ComplexTensor x = complex_of(a, {2, 3}), y = complex_of(b, {3, 4});
  const Numbers wanted = product_of(a, b, 2, 3, 4);
  expect_near([](const ComplexTensors& z) { return matmul(z[0], z[1]); }, {x, y}, {2, 4}, wanted);
  expect_near(tensordot(x, y, {1}, {0}), {2, 4}, wanted);
  expect_near(einsum("ij,jk->ik", {x, y}), {2, 4}, wanted);
  expect_near(inner(x, y.transpose(0, 1)), {2, 4}, wanted);
  const ComplexTensor bias = random_complex(dice, {4});
  expect_near(linear(x, y.transpose(0, 1), bias), {2, 4}, numbers_of(matmul(x, y) + bias));
  // A real operand has no part that is multiplied.
  const ComplexTensor real(y.real());
  expect_same(matmul(x, real), matmul(x, ComplexTensor(y.real(), y.imag() * 0.0)));
  EXPECT_TRUE(matmul(ComplexTensor(x.real()), real).is_real());
  expect_same(linalg_multi_dot({x, y, y.transpose(0, 1)}), matmul(matmul(x, y), y.transpose(0, 1)));
}

TEST(ComplexProducts, OfVectorsMayConjugateTheFirst) {
  const Complex a(1, 2), b(0, 2), c(3, -1), d(-1, 1);
  const ComplexTensor x = complex_of({a, b}, {2}), y = complex_of({c, d}, {2});
  expect_near(dot(x, y), {}, {a * c + b * d});
  expect_near(vdot(x, y), {}, {std::conj(a) * c + std::conj(b) * d});
  expect_near(linalg_vecdot(x, y), {}, {std::conj(a) * c + std::conj(b) * d});
  expect_near(outer(x, y), {2, 2}, {a * c, a * d, b * c, b * d});
  expect_near(kron(x, y), {4}, {a * c, a * d, b * c, b * d});
  expect_near(adjoint(x.unsqueeze(0)), {2, 1}, {std::conj(a), std::conj(b)});
  expect_near(adjoint(x), {2}, {std::conj(a), std::conj(b)});
  const Numbers p = {a, b, c}, q = {d, c, a};
  expect_near(cross(complex_of(p, {3}), complex_of(q, {3})), {3},
              {b * a - c * c, c * d - a * a, a * c - b * d});
}

TEST(ComplexProducts, OfThreeOperandsAreSummedOverAllParts) {
  Dice dice(2);
  const ComplexTensor x = random_complex(dice, {2, 3}), y = random_complex(dice, {3, 3}),
                      z = random_complex(dice, {3, 2});
  expect_same(einsum("ij,jk,kl->il", {x, y, z}), matmul(matmul(x, y), z));
  const ComplexTensor real(y.real());
  expect_same(einsum("ij,jk,kl->il", {x, real, z}), matmul(matmul(x, real), z));
  EXPECT_THAT(error_of([&] { einsum("i,i,i,i,i,i,i->i", ComplexTensors(7, x.select(0, 0))); }),
              HasSubstr("[einsum] 7 complex operands; 1 to 6 are supported"));
}

TEST(ComplexProducts, ExponentialsOfMatricesAreTheSeries) {
  // exp of a diagonal of i pi and 1 + i, and of a nilpotent matrix.
  const ComplexTensor diagonal = complex_of({{0, std::numbers::pi}, 0, 0, {1, 1}}, {2, 2});
  expect_near(matrix_exp(diagonal), {2, 2}, {-1, 0, 0, std::exp(Complex(1, 1))});
  expect_near(matrix_exp(complex_of({0, {2, 3}, 0, 0}, {2, 2})), {2, 2}, {1, {2, 3}, 0, 1});
  const Complex a(1, 1), b(0, -2);
  expect_near(linalg_vander(complex_of({a, b}, {2}), 4), {2, 4},
              {1, a, a * a, a * a * a, 1, b, b * b, b * b * b});
  EXPECT_EQ(linalg_vander(complex_of({a, b}, {2})).shape(), (Shape{2, 2}));
  EXPECT_THAT(error_of([&] { linalg_vander(complex_of({a}, {1}), 0); }),
              HasSubstr("[linalg_vander] 0 powers; at least 1 is wanted"));
}

TEST(ComplexReductions, AreThoseOfTheirElements) {
  Dice dice(3);
  const Numbers numbers = random_numbers(dice, 15);
  const ComplexTensor z = complex_of(numbers, {3, 5});
  Numbers sums(3), products(3, 1), running(15), running_sums(15);
  std::vector<double> variances(3);
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 5; ++i) {
      sums[row] += numbers[row * 5 + i];
      products[row] *= numbers[row * 5 + i];
      running[row * 5 + i] = products[row];
      running_sums[row * 5 + i] = sums[row];
    }
    for (std::size_t i = 0; i < 5; ++i)
      variances[row] += std::norm(numbers[row * 5 + i] - sums[row] / 5.0) / 4;
  }
  Numbers means;
  for (const Complex& sum : sums) means.push_back(sum / 5.0);
  expect_near([](const ComplexTensors& x) { return prod(x[0], 1); }, {z}, {3}, products);
  expect_near([](const ComplexTensors& x) { return cumprod(x[0], -1); }, {z}, {3, 5}, running);
  expect_near(cumsum(z, 1), {3, 5}, running_sums);
  expect_near(sum(z, {1}, true), {3, 1}, sums);
  expect_near(mean(z, {-1}), {3}, means);
  expect_near(prod(z), {}, {products[0] * products[1] * products[2]});
  const auto [variance, centre] = var_mean(z, {1});
  const auto [deviation, again] = std_mean(z, {1});
  expect_near(centre, {3}, means);
  expect_near(again, {3}, means);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(variance.to_vector<double>()[row], variances[row], 1e-13);
    EXPECT_NEAR(deviation.to_vector<double>()[row], std::sqrt(variances[row]), 1e-13);
    EXPECT_NEAR(var(z, {1}, 0).to_vector<double>()[row], variances[row] * 4 / 5, 1e-13);
  }
  double squares = 0;
  for (const Complex& number : numbers) squares += std::norm(number);
  EXPECT_NEAR(linalg_vector_norm(z).item<double>(), std::sqrt(squares), 1e-13);
}

TEST(ComplexReductions, ProductsOverNothingAreOne) {
  const ComplexTensor none = complex_of({}, {2, 0});
  expect_near(prod(none, 1), {2}, {1, 1});
  expect_near(prod(none, 1, true), {2, 1}, {1, 1});
  EXPECT_THAT(error_of([&] { prod(none, 2); }), HasSubstr("[prod] axis 2 of [2x0]; it has 2"));
  EXPECT_THAT(error_of([&] { cumprod(none, -3); }),
              HasSubstr("[cumprod] axis -3 of [2x0]; it has 2"));
}

}  // namespace
}  // namespace tilewright::complex_products_test
