// Factors and spectra of complex matrices that the host computes, by their definition.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"
#include "tests/graph/unit_matrices.h"

namespace tilewright::complex_host_matrices_test {
namespace {

using namespace testing_matrices;

using testing_loops::Dice;
using Tensors = std::vector<Tensor>;

// A complex matrix as a real one of twice the size.
Tensor twice(const ComplexTensor& z) {
  const int last = z.real().rank() - 1;
  return cat({cat({z.real(), -z.imag()}, last), cat({z.imag(), z.real()}, last)}, last - 1);
}
ComplexTensor product(const ComplexTensor& a, const ComplexTensor& b) {
  return {matmul(a.real(), b.real()) - matmul(a.imag(), b.imag()),
          matmul(a.real(), b.imag()) + matmul(a.imag(), b.real())};
}
ComplexTensor adjoint(const ComplexTensor& z) { return {turned(z.real()), -turned(z.imag())}; }
ComplexTensor times(const ComplexTensor& z, const Tensor& columns) {
  return {z.real() * columns.unsqueeze(-2), z.imag() * columns.unsqueeze(-2)};
}
void expect_equal(const ComplexTensor& a, const ComplexTensor& b, const std::string& what) {
  ASSERT_EQ(a.real().shape(), b.real().shape()) << what;
  for (const Tensor& difference : {a.real() - b.real(), a.imag() - b.imag()})
    for (double value : difference.to(f64).to_vector<double>())
      ASSERT_NEAR(value, 0, 1e-11) << what;
}
ComplexTensor complex_one(std::int64_t n, const Tensor& like) {
  const Tensor real = one(n).to(f64).expand({like.size(0), n, n});
  return {real, real * 0.0};
}
void expect_orthonormal(const ComplexTensor& z, const std::string& what) {
  expect_equal(product(adjoint(z), z), complex_one(z.real().size(-1), z.real()), what);
}
ComplexTensor random_parts(Dice& dice, const Shape& shape) {
  return {dice.floats(shape).to(f64), dice.floats(shape).to(f64)};
}

TEST(HostMatrices, ComplexEquationsAreRealOnesOfTwiceTheSize) {
  Dice dice(5);
  for (std::int64_t n : {1, 2, 5, 12, 20}) {
    const ComplexTensor a = random_parts(dice, {2, n, n}), b = random_parts(dice, {2, n, 3});
    const std::string what = concat(n, " rows");
    expect_equal(product(a, solve(a, b)), b, what);
    expect_equal(product(a, inverse(a)), complex_one(n, a.real()), what);
    // |det A|^2 is the real determinant.
    const ComplexTensor whole = determinant(a);
    const Tensor square = whole.real() * whole.real() + whole.imag() * whole.imag();
    const Tensor wanted = determinant(twice(a));
    for (double value : (square / wanted - 1.0).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-9);
    const ComplexLogDeterminant log = log_determinant(a);
    const Tensor size = exp(log.log_magnitude);
    for (const Tensor& off :
         {log.direction.real() * size - whole.real(), log.direction.imag() * size - whole.imag()})
      for (double value : (off / size).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-10);
    const ComplexTensor definite = [&] {
      ComplexTensor sum = product(a, adjoint(a));
      return ComplexTensor{sum.real() + one(n).to(f64), sum.imag()};
    }();
    const ComplexTensor low = cholesky(definite), high = cholesky(definite, true);
    expect_equal(product(low, adjoint(low)), definite, what);
    expect_equal(product(adjoint(high), high), definite, what);
    expect_equal(adjoint(low), high, what);
    expect_equal(product(low, solve_triangular(low, b)), b, what);
    expect_equal(product(high, solve_triangular(high, b, {.upper = true})), b, what);
    // One matrix for many right sides.
    const ComplexTensor first = {a.real().select(0, 0), a.imag().select(0, 0)};
    expect_equal(product({first.real().unsqueeze(0), first.imag().unsqueeze(0)}, solve(first, b)),
                 b, what);
  }
  // The matrix is i times [[0, 1], [1, 0]].
  const ComplexTensor swap = {zeros({2, 2}), Tensor::from(std::vector<float>{0, 1, 1, 0}, {2, 2})};
  EXPECT_EQ(determinant(swap).real().item<float>(), 1);
  const ComplexLuFactors lu = lu_factor(swap);
  EXPECT_EQ(lu.pivots.to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 2}));
  EXPECT_EQ(lu.rows.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
}

TEST(HostMatrices, ComplexFactorsMultiplyToTheMatrix) {
  Dice dice(6);
  for (auto [m, n] : {std::pair{1, 1}, {4, 4}, {7, 3}, {3, 6}, {30, 20}, {45, 21}}) {
    const ComplexTensor a = random_parts(dice, {2, m, n});
    const std::string what = concat(m, " x ", n);
    for (bool complete : {false, true}) {
      auto [q, r] = qr(a, complete);
      expect_equal(product(q, r), a, what);
      expect_orthonormal(q, what);
      for (double value : tril(r.real(), -1).to_vector<double>()) ASSERT_EQ(value, 0);
      const ComplexSingularValues parts = svd(a, complete);
      expect_orthonormal(parts.left, what);
      expect_orthonormal(parts.right, what);
      const std::int64_t k = std::min(m, n);
      auto first = [&](const ComplexTensor& z) {
        return ComplexTensor{z.real().slice(-1, 0, k), z.imag().slice(-1, 0, k)};
      };
      expect_equal(product(times(first(parts.left), parts.values), adjoint(first(parts.right))), a,
                   what);
      for (double value : (svdvals(a) - parts.values).to_vector<double>())
        ASSERT_NEAR(value, 0, 1e-12);
    }
    auto [factors, tau] = geqrf(a);
    auto [whole, tall] = qr(a, true);
    expect_equal(reflected(factors, tau, a, true), tall, what);
    expect_equal(reflected(factors, tau, tall), a, what);
    if (m >= n) expect_equal(householder_product(factors, tau), qr(a).first, what);
  }
  // LAPACK's signs: of (3i, 4) R is -5 and tau = (beta - alpha) / beta.
  const ComplexTensor column = {Tensor::from(std::vector<double>{3, 0}, {2, 1}),
                                Tensor::from(std::vector<double>{0, 4}, {2, 1})};
  auto [factors, tau] = geqrf(column);
  EXPECT_NEAR(factors.real().to_vector<double>()[0], -5, 1e-15);
  EXPECT_NEAR(tau.real().item<double>(), 1.6, 1e-15);
}

TEST(HostMatrices, HermitianMatricesAreTurnedToTheirRealValues) {
  Dice dice(7);
  for (std::int64_t n : {1, 2, 5, 16, 33, 50}) {
    const ComplexTensor half = random_parts(dice, {2, n, n});
    const ComplexTensor a = {half.real() + turned(half.real()), half.imag() - turned(half.imag())};
    for (bool upper : {false, true}) {
      auto keep = [&](const Tensor& x) {
        return upper ? triu(x) : tril(x);
      };  // the half that is read
      const ComplexTensor given = {keep(a.real()), keep(a.imag())};
      auto [values, vectors] = eigh(given, upper);
      expect_equal(product(a, vectors), times(vectors, values), concat(n));
      expect_orthonormal(vectors, concat(n));
      for (double value : (eigvalsh(given, upper) - values).to_vector<double>())
        ASSERT_NEAR(value, 0, 1e-12);
    }
  }
}

TEST(HostMatrices, VectorsOfAnyMatrixAreOnlyScaledByIt) {
  Dice dice(8);
  for (std::int64_t n : {1, 2, 5, 16, 33})
    for (bool is_real : {true, false}) {
      const ComplexTensor drawn = random_parts(dice, {3, n, n});
      const ComplexTensor a = {drawn.real(), is_real ? drawn.imag() * 0.0 : drawn.imag()};
      const ComplexTensor given = {drawn.real(), is_real ? Tensor() : drawn.imag()};
      auto [values, vectors] = eig(given);
      const ComplexTensor scaled = {
          vectors.real() * values.real().unsqueeze(1) - vectors.imag() * values.imag().unsqueeze(1),
          vectors.real() * values.imag().unsqueeze(1) +
              vectors.imag() * values.real().unsqueeze(1)};
      expect_equal(product(a, vectors), scaled, concat(n));
      const Tensor length =
          sum(vectors.real() * vectors.real() + vectors.imag() * vectors.imag(), {1});
      for (double value : (length - 1.0).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-13);
      const ComplexTensor alone = eigvals(given);
      // Their sum is the trace.
      const Tensor trace = sum(diagonal(a.real(), 0, 1, 2), {1});
      for (double value : (sum(alone.real(), {1}) - trace).to_vector<double>())
        ASSERT_NEAR(value, 0, 1e-12);
    }
  // A quarter turn has the values i and -i, in this order.
  const Tensor turn = Tensor::from(std::vector<double>{0, -1, 1, 0}, {2, 2});
  auto [values, vectors] = eig({turn, {}});
  EXPECT_EQ(values.real().to_vector<double>(), (std::vector<double>{0, 0}));
  EXPECT_EQ(values.imag().to_vector<double>(), (std::vector<double>{1, -1}));
  // Rows and columns of very different sizes: values 1 and 3.
  const Tensor uneven = Tensor::from(std::vector<double>{2, 1e12, 1e-12, 2}, {2, 2});
  std::vector<double> found = eigvals({uneven, {}}).real().to_vector<double>();
  std::ranges::sort(found);
  EXPECT_NEAR(found[0], 1, 1e-14);
  EXPECT_NEAR(found[1], 3, 1e-14);
}

}  // namespace
}  // namespace tilewright::complex_host_matrices_test
