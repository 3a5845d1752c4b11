// Factors of complex matrices solve equations, and matrices made of factors multiply back.
#include "graph/functions/linear_algebra/complex_equations.h"

#include <gmock/gmock.h>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/elementary.h"
#include "graph/functions/complex/products.h"
#include "graph/functions/creation.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "tests/errors.h"
#include "tests/graph/complex/complex_numbers.h"

namespace tilewright::complex_equations_test {
namespace {

using namespace testing_complex;
using ::testing::HasSubstr;

ComplexTensor one(std::int64_t n) { return ComplexTensor(eye(n, std::nullopt, f64)); }

TEST(ComplexEquations, LowerTimesUpperIsTheMatrixInAnotherOrder) {
  Dice dice(1);
  for (auto [m, n] : {std::pair{4, 4}, {5, 3}, {3, 5}}) {
    const ComplexTensor a = random_complex(dice, {2, m, n});
    const ComplexLuMatrices parts = lu(a);
    expect_same(matmul(parts.permutation, matmul(parts.lower, parts.upper)), a);
    const ComplexLuFactors factors = lu_factor(a);
    const ComplexLuMatrices unpacked = lu_unpack(factors.factors, factors.pivots);
    expect_same(unpacked.permutation, parts.permutation);
    expect_same(unpacked.lower, parts.lower);
    expect_same(unpacked.upper, parts.upper);
  }
}

TEST(ComplexEquations, AreSolvedFromBothSidesByFactors) {
  Dice dice(2);
  const ComplexTensor a = random_complex(dice, {2, 4, 4}) + one(4) * 2.0;
  const ComplexTensor columns = random_complex(dice, {2, 4, 3}), rows = columns.transpose(-2, -1);
  const ComplexLuFactors lu = lu_factor(a);
  auto solved = [&](const ComplexTensor& b, bool left, bool is_adjoint) {
    return lu_solve(lu.factors, lu.pivots, b, {.left = left, .adjoint = is_adjoint});
  };
  expect_same(matmul(a, solved(columns, true, false)), columns);
  expect_same(matmul(adjoint(a), solved(columns, true, true)), columns);
  expect_same(matmul(solved(rows, false, false), a), rows);
  expect_same(matmul(solved(rows, false, true), adjoint(a)), rows);
  const ComplexTensor definite = matmul(a, adjoint(a));
  for (bool upper : {false, true}) {
    const ComplexTensor factor = cholesky(definite, upper);
    expect_same(matmul(definite, cholesky_solve(columns, factor, upper)), columns, 1e-10);
    expect_same(matmul(definite, cholesky_inverse(factor, upper)), one(4).expand({2, 4, 4}), 1e-10);
  }
  expect_same(exp(logdet(a)), determinant(a));
}

TEST(ComplexEquations, MatricesMadeOfFactorsMultiplyBack) {
  Dice dice(3);
  const ComplexTensor a = random_complex(dice, {2, 5, 3});
  const auto [unitary, hermitian] = linalg_polar(a);
  expect_same(matmul(unitary, hermitian), a);
  expect_same(matmul(adjoint(unitary), unitary), one(3).expand({2, 3, 3}));
  expect_same(adjoint(hermitian), hermitian);
  const ComplexTensor square = matmul(adjoint(a), a), root = matrix_sqrth(square);
  expect_same(matmul(root, root), square);
  EXPECT_THAT(error_of([&] { linalg_polar(adjoint(a)); }),
              HasSubstr("[linalg_polar] the operand is [2x3x5]; at least as many rows"));
  EXPECT_THAT(error_of([&] { cholesky_inverse(a.select(0, 0).select(0, 0)); }),
              HasSubstr("[cholesky_inverse] the operand is [3]; matrices"));
}

TEST(ComplexEquations, ReflectionsMultiplyFromBothSides) {
  Dice dice(4);
  const ComplexTensor a = random_complex(dice, {4, 4}), x = random_complex(dice, {4, 4});
  const auto [vectors, tau] = geqrf(a);
  const ComplexTensor q = householder_product(vectors, tau);
  expect_same(ormqr(vectors, tau, x), matmul(q, x));
  expect_same(ormqr(vectors, tau, x, {.adjoint = true}), matmul(adjoint(q), x));
  expect_same(ormqr(vectors, tau, x, {.left = false}), matmul(x, q));
  expect_same(ormqr(vectors, tau, x, {.left = false, .adjoint = true}), matmul(x, adjoint(q)));
}

}  // namespace
}  // namespace tilewright::complex_equations_test
