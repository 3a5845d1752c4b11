// Factors of matrices multiply to what was factored, and solutions solve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/linear_algebra/symmetric.h"
#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"
#include "tests/graph/unit_matrices.h"

namespace tilewright::linear_algebra_test {
namespace {

using namespace testing_matrices;

using ::testing::HasSubstr;
using testing_loops::Dice;
using Tensors = std::vector<Tensor>;

void expect_zero(const Tensor& difference, const std::string& what) {
  for (double value : difference.to(f64).to_vector<double>()) ASSERT_NEAR(value, 0, 2e-5) << what;
}
// At once and compiled the function gives tensors that are nearly zero.
void expect_zeros(const std::function<Tensors(const Tensors&)>& function, const Tensors& inputs,
                  const std::string& what) {
  for (const Tensor& each : function(inputs)) expect_zero(each, what);
  for (const Tensor& each : compile(function)(inputs)) expect_zero(each, what + ", compiled");
}

TEST(LinearAlgebra, RowsInOrderAreTheProductOfLAndU) {
  Dice dice(1);
  for (auto [m, n] : {std::pair{5, 5}, {7, 4}, {3, 6}, {1, 1}, {12, 12}})
    expect_zeros(
        [m = m, n = n](const Tensors& x) -> Tensors {
          const LuFactors lu = lu_factor(x[0]);
          const std::int64_t k = std::min(m, n);
          Tensor low = tril(lu.factors.slice(-1, 0, k), -1);
          low = low + (arange(0, m).unsqueeze(1) == arange(0, k)).to(f32);
          Tensor rows = lu.rows.unsqueeze(2).expand(x[0].shape());
          return {matmul(low, triu(lu.factors.slice(-2, 0, k))) - gather(x[0], 1, rows),
                  rows_of_pivots(lu.pivots, m) - lu.rows};
        },
        {dice.floats({2, m, n})}, concat(m, " x ", n));
}

// With small diagonals, for which pairs of rows become blocks, and with zeros of them.
TEST(LinearAlgebra, SymmetricMatricesAreSolvedByTheirFactors) {
  Dice dice(9);
  for (std::int64_t n : {1, 2, 5, 12})
    for (double diagonal : {0.0, 0.01, 1.0, 8.0}) {
      const Tensor half = dice.floats({2, n, n}).to(f64);
      const Tensor off = (half + turned(half)) * (1.0 - one(n).to(f64));
      const Tensor a = off + one(n).to(f64) * (n == 1 ? 2.0 : diagonal);
      expect_zeros(
          [](const Tensors& x) -> Tensors {
            const LdlFactors ldl = ldl_factor(x[0]);
            const Tensor one = x[1].select(0, 0);  // for both matrices
            return {matmul(x[0], ldl_solve(ldl.factors, ldl.pivots, x[1])) - x[1], ldl.singular,
                    matmul(x[0], ldl_solve(ldl.factors, ldl.pivots, one)) - one,
                    // Elements above the diagonal are not read.
                    ldl_factor(tril(x[0])).factors - ldl.factors};
          },
          {a, dice.floats({2, n, 3}).to(f64)}, concat(n, " rows, diagonal ", diagonal));
    }
}

TEST(LinearAlgebra, SymmetricFactorsAreThoseOfLapack) {
  // The first two rows are a block, whose second is exchanged with the third.
  const Tensor a = Tensor::from(std::vector<double>{0, 1, 2, 1, 3, 4, 2, 4, 0}, {3, 3});
  const LdlFactors ldl = ldl_factor(a);
  EXPECT_EQ(ldl.pivots.to_vector<std::int32_t>(), (std::vector<std::int32_t>{-3, -3, 3}));
  EXPECT_EQ(ldl.factors.to_vector<double>(), (std::vector<double>{0, 0, 0, 2, 0, 0, 2, 0.5, -1}));
  const LdlFactors none = ldl_factor(zeros({2, 2}));
  EXPECT_EQ(none.singular.item<std::int32_t>(), 1);
  EXPECT_EQ(none.pivots.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2}));
  EXPECT_THAT(error_of([] {
                ldl_factor(zeros({2, 3}));
              }),
              HasSubstr("[ldl_factor] the matrices are [2, 3]; they must be square"));
  EXPECT_THAT(
      error_of([&] {
        ldl_solve(ldl.factors, ldl.pivots, zeros({2, 1}));
      }),
      HasSubstr("[ldl_solve] factors [3x3], pivots [3] and b [2x1]; [.., n, n], [.., n] and "
                "[.., n, k] are wanted, whose batches broadcast"));
}

TEST(LinearAlgebra, SolutionsSolve) {
  Dice dice(2);
  for (std::int64_t n : {1, 3, 9}) {
    Tensor a = dice.floats({2, n, n}) + 2.0 * one(n), b = dice.floats({2, n, 3});
    expect_zeros(
        [n](const Tensors& x) -> Tensors {
          Tensor vector = x[1].select(2, 0);
          return {matmul(x[0], solve(x[0], x[1])) - x[1],
                  matmul(x[0], solve(x[0], vector).unsqueeze(-1)).squeeze(-1) - vector,
                  matmul(inverse(x[0]), x[0]) - one(n)};
        },
        {a, b}, concat(n));
  }
}

TEST(LinearAlgebra, OneVectorIsSolvedForEachMatrix) {
  Dice dice(9);
  expect_zeros(
      [](const Tensors& x) -> Tensors {
        return {matmul(x[0], solve(x[0], x[1]).unsqueeze(-1)).squeeze(-1) - x[1]};
      },
      {dice.floats({2, 3, 3}) + 2.0 * one(3), dice.floats({3})}, "one vector");
}

TEST(LinearAlgebra, DeterminantsAreThoseOfProducts) {
  Dice dice(3);
  Tensor a = dice.floats({3, 4, 4}), b = dice.floats({3, 4, 4});
  expect_zeros(
      [](const Tensors& x) -> Tensors {
        auto [sign, log_magnitude] = log_determinant(x[0]);
        Tensor d = determinant(x[0]);
        return {determinant(matmul(x[0], x[1])) - d * determinant(x[1]),
                sign * exp(log_magnitude) - d};
      },
      {a, b}, "determinants");
  // A matrix with two rows in the other order.
  Tensor swapped = Tensor::from(std::vector<float>{0, 2, 3, 0}, {2, 2});
  EXPECT_FLOAT_EQ(determinant(swapped).item<float>(), -6);
}

TEST(LinearAlgebra, HalvesOfPositiveMatricesAreTheirRoots) {
  Dice dice(4);
  for (std::int64_t n : {1, 4, 8}) {
    Tensor half = dice.floats({2, n, n});
    Tensor a = matmul(half, turned(half)) + one(n);
    expect_zeros(
        [](const Tensors& x) -> Tensors {
          Tensor low = cholesky(x[0]), high = cholesky(x[0], true);
          return {matmul(low, turned(low)) - x[0], matmul(turned(high), high) - x[0], triu(low, 1),
                  tril(high, -1)};
        },
        {a}, concat(n));
  }
  EXPECT_TRUE(std::isnan(cholesky(full({1, 1}, -1)).item<float>()));
}

TEST(LinearAlgebra, TrianglesAreSolvedWithoutTheirOtherHalf) {
  Dice dice(5);
  Tensor a = dice.floats({5, 5}) + 3.0 * one(5), b = dice.floats({2, 5, 2});
  expect_zeros(
      [](const Tensors& x) -> Tensors {
        Tensor unit = tril(x[0], -1) + one(5);
        return {matmul(tril(x[0]), solve_triangular(x[0], x[1])) - x[1],
                matmul(triu(x[0]), solve_triangular(x[0], x[1], {.upper = true})) - x[1],
                matmul(unit, solve_triangular(x[0], x[1], {.unit_diagonal = true})) - x[1]};
      },
      {a, b}, "triangles");
}

TEST(LinearAlgebra, ReflectionsMakeColumnsOrthogonal) {
  Dice dice(6);
  for (auto [m, n] : {std::pair{5, 5}, {7, 3}, {3, 6}})
    expect_zeros(
        [m = m](const Tensors& x) -> Tensors {
          auto [q, r] = qr(x[0]);
          auto [whole, tall] = qr(x[0], true);
          auto [factors, tau] = geqrf(x[0]);
          return {matmul(q, r) - x[0],
                  matmul(turned(q), q) - one(q.size(-1)),
                  matmul(turned(whole), whole) - one(m),
                  matmul(whole, tall) - x[0],
                  tril(tall, -1),
                  reflected(factors, tau, x[0], true) - tall};
        },
        {dice.floats({2, m, n})}, concat(m, " x ", n));
}

TEST(LinearAlgebra, VectorsOfASymmetricMatrixAreOnlyScaledByIt) {
  Dice dice(7);
  for (std::int64_t n : {1, 2, 5, 8, 17}) {
    Tensor half = dice.floats({2, n, n});
    expect_zeros(
        [n](const Tensors& x) -> Tensors {
          auto [values, vectors] = eigh(x[0]);
          Tensor other = eigh(turned(x[0]), true).first;
          Tensor steps = values.slice(-1, 1, n) - values.slice(-1, 0, n - 1);
          Tensor whole = tril(x[0]) + turned(tril(x[0], -1));
          return {matmul(whole, vectors) - vectors * values.unsqueeze(1),
                  matmul(turned(vectors), vectors) - one(n), values - other, minimum(steps, 0.0)};
        },
        {half}, concat(n));
  }
}

// Where values are equal, what is between columns is rounding alone.
TEST(LinearAlgebra, VectorsOfEqualValuesAreOrthogonal) {
  Dice dice(9);
  for (std::int64_t n : {3, 5, 8, 20, 33}) {
    const Tensor unity = one(n).to(f64);
    Tensor u = dice.floats({n, 1}).to(f64), few = dice.floats({n, n / 2}).to(f64);
    u = u / sqrt(sum(u * u));
    const std::vector<Tensor> all = {unity - 2.0 * matmul(u, turned(u)),
                                     zeros({n, n}, f64) + 1.0,
                                     unity + 1e-12,
                                     matmul(few, turned(few)),
                                     unity * 3.0,
                                     zeros({n, n}, f64)};
    auto function = [n](const Tensors& x) -> Tensors {
      auto [values, vectors] = eigh(x[0]);
      return {matmul(x[0], vectors) - vectors * values.unsqueeze(0),
              matmul(turned(vectors), vectors) - one(n).to(f64)};
    };
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const Tensor& difference : function({all[i]}))
        for (double value : difference.to_vector<double>())
          ASSERT_NEAR(value, 0, 1e-12) << "matrix " << i << " of " << n;
    for (const Tensor& difference : compile(function)({all[0]}))
      for (double value : difference.to_vector<double>()) ASSERT_NEAR(value, 0, 1e-12);
  }
}

TEST(LinearAlgebra, SingularValuesMayBeAsLargeAndSmallAsNumbersAre) {
  for (double scale : {1e200, 1e-200, 1e-300, 1.0, 0.0}) {
    const Tensor a = Tensor::from(std::vector<double>{3 * scale, 0, 0, 0, -scale, 0}, {2, 3});
    const std::vector<double> values = singular_values(a).values.to_vector<double>();
    EXPECT_DOUBLE_EQ(values[0], 3 * scale);
    EXPECT_DOUBLE_EQ(values[1], scale);
  }
}

// Columns are turned towards each other until they are orthogonal; one has none beside it.
TEST(LinearAlgebra, OneColumnIsNotTurned) {
  for (std::int64_t columns : {1, 2}) {
    graph::Capture capture;
    const Tensor x = capture.placeholder(f32, {4, columns});
    const graph::Graph graph = graph::decompose(capture.finish({singular_values(x).values}).graph,
                                                dsl::target_named("sm_80"));
    EXPECT_EQ(print(graph).find("scan") != std::string::npos, columns == 2) << print(graph);
  }
}

TEST(LinearAlgebra, SingularValuesAreBetweenOrthogonalMatrices) {
  Dice dice(8);
  for (auto [m, n] : {std::pair{1, 1}, {6, 4}, {3, 7}, {9, 9}})
    expect_zeros(
        [m = m, n = n](const Tensors& x) -> Tensors {
          auto [left, values, right] = singular_values(x[0]);
          const std::int64_t k = std::min(m, n);
          Tensor steps = values.slice(-1, 1, k) - values.slice(-1, 0, k - 1);
          return {matmul(left * values.unsqueeze(1), turned(right)) - x[0],
                  matmul(turned(left), left) - one(k), matmul(turned(right), right) - one(k),
                  maximum(steps, 0.0)};
        },
        {dice.floats({2, m, n})}, concat(m, " x ", n));
  // A matrix of rank 1.
  const auto values = singular_values(ones({3, 4})).values.to_vector<float>();
  EXPECT_FLOAT_EQ(values[0], std::sqrt(12.0F));
  EXPECT_NEAR(values[1], 0, 1e-6);
}

TEST(LinearAlgebra, OfWhatAreNoSuchMatricesIsRefused) {
  EXPECT_THAT(error_of([] { lu_factor(ones({3})); }),
              HasSubstr("[lu_factor] the operand is f32 [3]"));
  EXPECT_THAT(error_of([] {
                determinant(ones({2, 2}, i64));
              }),
              HasSubstr("matrices [.., m, n] of "));
  EXPECT_THAT(error_of([] { inverse(ones({2, 3})); }), HasSubstr("[2, 3]; they must be square"));
  EXPECT_THAT(error_of([] {
                solve(ones({2, 2}), ones({3, 1}));
              }),
              HasSubstr("[solve] the matrices are [2x2] and [3x1]"));
  EXPECT_THAT(error_of([] {
                reflected(ones({3, 2}), ones({2}), ones({4, 2}));
              }),
              HasSubstr("[reflected] 2 reflections [3x2] of [4x2]"));
}

}  // namespace
}  // namespace tilewright::linear_algebra_test
