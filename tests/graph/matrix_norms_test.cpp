// Norms of matrices and functions that are made of singular values and inverses.
#include "graph/functions/linear_algebra/matrix_norms.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::matrix_norms_test {
namespace {

using namespace testing_loops;
using Kind = MatrixNormOrder::Kind;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(MatrixNorms, AreOfEachOrder) {
  const Tensor diagonal = Tensor::from(Floats{3, 0, 0, -4}, {2, 2});
  auto norm = [&](const Tensor& x, const MatrixNormOrder& order) {
    return matrix_norm(x, order).item<float>();
  };
  EXPECT_NEAR(norm(diagonal, {.kind = Kind::frobenius}), 5, 1e-5);
  EXPECT_NEAR(norm(diagonal, {.kind = Kind::nuclear}), 7, 1e-5);
  EXPECT_NEAR(norm(diagonal, {.number = 2}), 4, 1e-5);
  EXPECT_NEAR(norm(diagonal, {.number = -2}), 3, 1e-5);
  const Tensor x = Tensor::from(Floats{3, 0, 1, 4}, {2, 2});
  EXPECT_EQ(norm(x, {.number = 1}), 4);
  EXPECT_EQ(norm(x, {.number = -1}), 4);
  EXPECT_EQ(norm(x, {.number = infinity}), 5);
  EXPECT_EQ(norm(x, {.number = -infinity}), 3);
  EXPECT_EQ(matrix_norm(ones({2, 3, 4}), {.number = 1}, {0, 2}, true).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(matrix_norm(ones({2, 3, 4}), {.number = 1}, {0, 2}).shape(), (Shape{3}));
}

TEST(MatrixNorms, GiveConditions) {
  const Tensor x = Tensor::from(Floats{2, 0, 0, 8}, {2, 2});
  EXPECT_NEAR(cond(x).item<float>(), 4, 1e-5);
  EXPECT_NEAR(cond(x, {.number = -2}).item<float>(), 0.25, 1e-6);
  EXPECT_NEAR(cond(x, {.number = 1}).item<float>(), 4, 1e-5);
  EXPECT_NEAR(cond(x, {.kind = Kind::nuclear}).item<float>(), 10 * 0.625, 1e-5);
  EXPECT_EQ(cond(zeros({2, 2}), {.number = 1}).item<float>(), infinity);
}

TEST(MatrixNorms, CountSingularValuesAboveBounds) {
  const Tensor x = Tensor::from(Floats{2, 0, 0, 0.5F}, {2, 2});
  EXPECT_EQ(matrix_rank(x).item<std::int64_t>(), 2);
  EXPECT_EQ(matrix_rank(x, {.atol = 1.0}).item<std::int64_t>(), 1);
  EXPECT_EQ(matrix_rank(x, {.rtol = full({}, 0.5)}).item<std::int64_t>(), 1);
  EXPECT_EQ(matrix_rank(zeros({2, 2})).item<std::int64_t>(), 0);
  const Tensor lower = Tensor::from(Floats{1, 9, 1, 1}, {2, 2});
  EXPECT_EQ(matrix_rank(lower, {.hermitian = true}).item<std::int64_t>(), 1);
  expect_close(pseudo_inverse(x, {.atol = 1.0}).real, {2, 2}, {0.5F, 0, 0, 0}, 1e-6F);
  EXPECT_EQ(pseudo_inverse(zeros({2, 0})).real.shape(), (Shape{0, 2}));
}

TEST(MatrixNorms, MultiplyMatricesWithThemselves) {
  const Tensor x = Tensor::from(Floats{1, 1, 0, 1}, {2, 2});
  auto power = [&](std::int64_t n) { return matrix_power(x, n).real.to_vector<float>(); };
  EXPECT_EQ(power(0), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(power(5), (Floats{1, 5, 0, 1}));
  EXPECT_EQ(power(-3), (Floats{1, -3, 0, 1}));
}

TEST(MatrixNorms, AreOfComplexMatricesToo) {
  const Tensor none = zeros({2, 2}), identity = Tensor::from(Floats{1, 0, 0, 1}, {2, 2});
  const ComplexTensor i(none, identity);
  EXPECT_NEAR(matrix_norm(i, {.kind = Kind::nuclear}).item<float>(), 2, 1e-5);
  const ComplexParts square = matrix_power(i, 2);
  expect_close(square.real, {2, 2}, {-1, 0, 0, -1}, 1e-6F);
  expect_close(square.imaginary, {2, 2}, {0, 0, 0, 0}, 1e-6F);
  expect_close(pseudo_inverse(i).imaginary, {2, 2}, {-1, 0, 0, -1}, 1e-6F);
}

TEST(MatrixNorms, TakeTensorsForMatrices) {
  const Tensor x = Tensor::from(Floats{2, 0, 0, 4}, {2, 1, 2});
  const Tensor y = tensor_inverse(x, 1).real;
  expect_close(y, {1, 2, 2}, {0.5F, 0, 0, 0.25F}, 1e-6F);
  const Tensor b = Tensor::from(Floats{2, 4}, {2});
  expect_close(tensor_solve(x, b).real, {1, 2}, {1, 1}, 1e-6F);
}

TEST(MatrixNorms, SayWhatDoesNotFit) {
  const Tensor x = ones({2, 2});
  expect_contains(error_of([&] { matrix_norm(ones({2}), {}); }), "[matrix_norm] 2 axes of 2");
  expect_contains(error_of([&] { matrix_norm(x, {.number = 3}); }), "the order is 3");
  expect_contains(error_of([&] { matrix_power(x, 1'000'001); }), "[matrix_power] n is 1000001");
  expect_contains(error_of([&] { tensor_inverse(x, 2); }), "[tensor_inverse] the first 2 axes");
}

}  // namespace
}  // namespace tilewright::matrix_norms_test
