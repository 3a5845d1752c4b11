// Parts of factored matrices and what is solved by them: their products are the matrices.
#include "graph/functions/linear_algebra/factored_solving.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::factored_solving_test {
namespace {

using testing_loops::expect_near;
using testing_loops::Floats;
using testing_loops::Tensors;

Tensor square() { return Tensor::from(Floats{0, 2, 1, 3, 1, -1, 2, 0, 4}, {3, 3}); }
Tensor positive() { return Tensor::from(Floats{4, 2, 0, 2, 5, 1, 0, 1, 3}, {3, 3}); }
Tensor right() { return Tensor::from(Floats{1, 2, -1, 0, 3, 1}, {3, 2}); }
Tensor wide() { return Tensor::from(Floats{1, 2, 0, 3, -1, 4}, {2, 3}); }

TEST(FactoredSolving, PartsMultiplyToTheMatrix) {
  for (const Tensor& a : {square(), wide(), wide().transpose(0, 1).contiguous()}) {
    expect_near(
        [](const Tensors& t) -> Tensors {
          const LuParts parts = lu(t[0]);
          return {matmul(matmul(parts.permutation, parts.lower), parts.upper)};
        },
        {a}, a.shape(), a.to_vector<float>());
    const LuFactors factors = lu_factor(a);
    const LuParts parts = lu_unpack(factors.factors, factors.pivots);
    const Tensor whole = matmul(matmul(parts.permutation, parts.lower), parts.upper);
    testing_loops::expect_close(whole, a.shape(), a.to_vector<float>(), 1e-5F);
  }
}

TEST(FactoredSolving, FactorsSolveFromBothSides) {
  const Tensor a = square(), b = right();
  const LuFactors factors = lu_factor(a);
  for (bool adjoint : {false, true}) {
    const Tensor of = adjoint ? a.transpose(0, 1) : a;
    expect_near(
        [&](const Tensors& t) -> Tensors {
          const Tensor x = lu_solve(t[0], factors.factors, factors.pivots, {.adjoint = adjoint});
          return {matmul(of, x)};
        },
        {b}, b.shape(), b.to_vector<float>());
    const Tensor row = b.transpose(0, 1).contiguous();
    expect_near(
        [&](const Tensors& t) -> Tensors {
          const Tensor x =
              lu_solve(t[0], factors.factors, factors.pivots, {.left = false, .adjoint = adjoint});
          return {matmul(x, of)};
        },
        {row}, row.shape(), row.to_vector<float>());
  }
}

TEST(FactoredSolving, RootsSolveAndInvert) {
  const Tensor a = positive(), b = right();
  for (bool upper : {false, true}) {
    const Tensor root = cholesky(a, upper);
    expect_near(
        [&](const Tensors& t) -> Tensors { return {matmul(a, cholesky_solve(t[0], root, upper))}; },
        {b}, b.shape(), b.to_vector<float>());
    expect_near(
        [&](const Tensors& t) -> Tensors { return {matmul(a, cholesky_inverse(t[0], upper))}; },
        {root}, {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  }
}

TEST(FactoredSolving, InfoNamesTheFirstColumnThatIsWrong) {
  auto value = [](const Tensor& t) { return t.item<std::int32_t>(); };
  EXPECT_EQ(value(singular_column(lu_factor(square()).factors)), 0);
  EXPECT_EQ(value(singular_column(Tensor::from(Floats{1, 2, 0, 0}, {2, 2}))), 2);
  EXPECT_EQ(value(indefinite_row(cholesky(positive()))), 0);
  EXPECT_EQ(value(indefinite_row(cholesky(Tensor::from(Floats{1, 2, 2, 1}, {2, 2})))), 2);
  EXPECT_EQ(singular_column(zeros({5, 0, 0})).shape(), Shape{5});
}

TEST(FactoredSolving, DeterminantsHaveLogarithms) {
  EXPECT_NEAR(logdet(positive()).item<float>(), std::log(44.0F), 1e-5F);
  EXPECT_TRUE(std::isnan(logdet(Tensor::from(Floats{0, 1, 1, 0}, {2, 2})).item<float>()));
}

TEST(FactoredSolving, ReflectionsMultiplyFromBothSides) {
  auto [vectors, tau] = geqrf(square());
  const Tensor q = householder_product(vectors, tau), x = right();
  auto expect = [](const Tensor& got, const Tensor& wanted) {
    testing_loops::expect_close(got, wanted.shape(), wanted.to_vector<float>(), 1e-5F);
  };
  expect(ormqr(vectors, tau, x), matmul(q, x));
  expect(ormqr(vectors, tau, x, {.transpose = true}), matmul(q.transpose(0, 1), x));
  const Tensor row = x.transpose(0, 1).contiguous();
  expect(ormqr(vectors, tau, row, {.left = false}), matmul(row, q));
  expect(ormqr(vectors, tau, row, {.left = false, .transpose = true}),
         matmul(row, q.transpose(0, 1)));
}

TEST(FactoredSolving, PolarFactorsAndRootsMultiplyToTheMatrix) {
  const Tensor tall = wide().transpose(0, 1).contiguous();
  expect_near(
      [](const Tensors& t) -> Tensors {
        const PolarFactors f = linalg_polar(t[0]);
        return {matmul(f.orthonormal, f.symmetric)};
      },
      {tall}, {3, 2}, tall.to_vector<float>());
  expect_near(
      [](const Tensors& t) -> Tensors {
        const Tensor u = linalg_polar(t[0]).orthonormal;
        return {matmul(u.transpose(0, 1), u)};
      },
      {tall}, {2, 2}, {1, 0, 0, 1});
  expect_near(
      [](const Tensors& t) -> Tensors {
        const Tensor root = linalg_matrix_sqrth(t[0]);
        return {matmul(root, root)};
      },
      {positive()}, {3, 3}, positive().to_vector<float>());
  expect_contains(error_of([] {
                    linalg_polar(zeros({2, 3}));
                  }),
                  "[linalg_polar] the operand is [2x3]");
  expect_contains(error_of([] { lu(zeros({3})); }), "[lu] the operand is f32 [3]");
}

}  // namespace
}  // namespace tilewright::factored_solving_test
