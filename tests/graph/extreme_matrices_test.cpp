// Factors of complex matrices whose elements lie near the ends of f64, where squares and absolute
// values overflow or vanish. The expected numbers are NumPy's for the matrices divided by 2^1000.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/reflections.h"

namespace tilewright::extreme_matrices_test {
namespace {

ComplexTensor matrix(const std::vector<double>& real, const std::vector<double>& imag) {
  return {Tensor::from(real, {2, 2}), Tensor::from(imag, {2, 2})};
}
ComplexTensor times(const ComplexTensor& z, double factor) {
  return {z.real() * factor, z.imag() * factor};
}

// The absolute value of the first element overflows.
ComplexTensor near_overflow() {
  return matrix({1.5e308, 1e308, 2e307, 0}, {1.5e308, 0, 0, -1e308});
}
// Those beside the diagonal do.
ComplexTensor hermitian() {
  return matrix({1.7e308, 1.3e308, 1.3e308, 1.5e308}, {0, -1.3e308, 1.3e308, 0});
}
const double down = std::ldexp(1.0, -1000), up = std::ldexp(1.0, 1000);

void expect_near(const Tensor& found, const std::vector<double>& expected) {
  const auto values = found.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(expected[i]))
      EXPECT_EQ(values[i], expected[i]) << i;
    else
      EXPECT_NEAR(values[i], expected[i], 1e-14 * (1e7 + std::abs(expected[i]))) << i;
  }
}
ComplexTensor product(const ComplexTensor& a, const ComplexTensor& b) {
  return {matmul(a.real(), b.real()) - matmul(a.imag(), b.imag()),
          matmul(a.real(), b.imag()) + matmul(a.imag(), b.real())};
}
void expect_equal(const ComplexTensor& a, const ComplexTensor& b) {
  for (const Tensor& off : {a.real() - b.real(), a.imag() - b.imag()})
    for (double value : off.to_vector<double>()) EXPECT_NEAR(value, 0, 1e-7);  // of 2e7
}

// The greatest value is more than f64 can hold, so it is infinite; all others are numbers.
TEST(ExtremeMatrices, SingularValuesNearOverflowAreRight) {
  const ComplexTensor a = near_overflow(), small = times(a, down);
  const ComplexSingularValues found = svd(a), wanted = svd(small);
  expect_near(wanted.values, {22608557.728576027, 7646873.832766638});
  expect_near(found.values * down, {INFINITY, 7646873.832766638});
  expect_near(svdvals(a) * down, {INFINITY, 7646873.832766638});
  expect_equal(found.left, wanted.left);
  expect_equal(found.right, wanted.right);
}

TEST(ExtremeMatrices, EigenvaluesNearOverflowAreRight) {
  auto [values, vectors] = eigh(hermitian());
  auto [wanted, same] = eigh(times(hermitian(), down));
  expect_near(wanted, {-2250987.6480186665, 32115423.440121666});
  expect_near(values * down, {-2250987.6480186665, INFINITY});
  expect_near(eigvalsh(hermitian()) * down, {-2250987.6480186665, INFINITY});
  expect_equal(vectors, same);
  const ComplexTensor of_any = eigvals(near_overflow());
  const auto real = of_any.real().to_vector<double>(), imag = of_any.imag().to_vector<double>();
  const std::size_t first = real[0] > real[1] ? 0 : 1;
  EXPECT_NEAR(real[first] * down, 14343660.012180705, 1e-7);
  EXPECT_NEAR(imag[first] * down, 13451409.835288486, 1e-7);
  EXPECT_NEAR(real[1 - first] * down, -344705.7346324238, 1e-7);
  EXPECT_NEAR(imag[1 - first] * down, -8785091.742772395, 1e-7);
}

// Squares of the elements overflow, or are 0.
TEST(ExtremeMatrices, OrthogonalFactorsAreRightAtBothEnds) {
  const ComplexTensor small = times(near_overflow(), down);
  for (double factor : {up * 0.5, down}) {
    auto [q, r] = qr(times(small, factor));
    const ComplexTensor scaled = times(r, 1 / factor);
    expect_near(abs(scaled.real().select(0, 0).select(0, 0)), {19885305.269375715});
    expect_near(abs(scaled.real().select(0, 1).select(0, 1)), {8694097.784734162});
    expect_equal(product(q, scaled), small);
    auto [factors, tau] = geqrf(times(small, factor));
    expect_equal(householder_product(factors, tau), q);
    expect_near(abs(factors.real().select(0, 0).select(0, 0)) / factor, {19885305.269375715});
  }
}

TEST(ExtremeMatrices, OrthogonalFactorsOfRealOnesAreToo) {
  const Tensor a = Tensor::from(std::vector<double>{3, 1, 4, 1}, {2, 2});
  for (double factor : {1e300, 1e-300}) {
    auto [q, r] = qr(a * factor);
    expect_near(abs(r.select(0, 0).select(0, 0)) / factor, {5});
    expect_near(matmul(q, r / factor), {3, 1, 4, 1});
  }
}

}  // namespace
}  // namespace tilewright::extreme_matrices_test
