// Products against loops, eager and compiled.
#include "graph/functions/reducing/products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/graph/whole_products.h"

namespace tilewright::products_test {
namespace {

using namespace testing_products;

// Sums over k of a[at(i, j, k)] b[..].
Floats sums(const Tensor& a, const Tensor& b, std::int64_t rows, std::int64_t columns,
            std::int64_t depth,
            const std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t, std::int64_t,
                                                                      std::int64_t)>& at) {
  const Floats x = a.to_vector<float>(), y = b.to_vector<float>();
  Floats result;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        auto [m, n] = at(i, j, k);
        sum += x[static_cast<std::size_t>(m)] * y[static_cast<std::size_t>(n)];
      }
      result.push_back(sum);
    }
  return result;
}

TEST(Products, OfMatricesAndVectors) {
  Tensor a = whole({3, 4}), b = whole({4, 2}, 2), v = whole({4}, 3), u = whole({4}, 5);
  auto as_matrix = [](auto i, auto j, auto k) { return std::pair(i * 4 + k, k * 2 + j); };
  expect_equal([](const Tensor& x, const Tensor& y) { return mm(x, y); }, a, b, {3, 2},
               sums(a, b, 3, 2, 4, as_matrix));
  expect_equal([](const Tensor& x, const Tensor& y) { return mv(x, y); }, a, v, {3},
               sums(a, v, 3, 1, 4, [](auto i, auto, auto k) { return std::pair(i * 4 + k, k); }));
  expect_equal([](const Tensor& x, const Tensor& y) { return dot(x, y); }, u, v, {},
               sums(u, v, 1, 1, 4, [](auto, auto, auto k) { return std::pair(k, k); }));
  expect_equal([](const Tensor& x, const Tensor& y) { return outer(x, y); }, u, v, {4, 4},
               sums(u, v, 4, 4, 1, [](auto i, auto j, auto) { return std::pair(i, j); }));
  expect_equal([](const Tensor& x, const Tensor& y) { return inner(x, y); }, a, whole({2, 4}, 6),
               {3, 2}, sums(a, whole({2, 4}, 6), 3, 2, 4, [](auto i, auto j, auto k) {
                 return std::pair(i * 4 + k, j * 4 + k);
               }));
  Tensor c = whole({2, 3, 4}), d = whole({2, 4, 2}, 2);
  expect_equal([](const Tensor& x, const Tensor& y) { return bmm(x, y); }, c, d, {2, 3, 2},
               sums(c, d, 6, 2, 4, [](auto i, auto j, auto k) {
                 return std::pair(i * 4 + k, i / 3 * 8 + k * 2 + j);
               }));
  EXPECT_EQ(inner(Tensor::scalar(2.0F), v).shape(), (Shape{4}));
}

TEST(Products, AreAdded) {
  Tensor x = whole({2}, 7), a = whole({3, 4}), b = whole({4, 2}, 2);
  Floats product = mm(a, b).to_vector<float>(), bias = x.to_vector<float>(), wanted;
  for (std::size_t i = 0; i < 6; ++i) wanted.push_back(2 * bias[i % 2] + 3 * product[i]);
  const AddedProduct factors = {.beta = 2, .alpha = 3};
  auto function = [&](const Tensor& p, const Tensor& q) {
    return addmm(x.to(p.dtype()), p, q, factors);
  };
  expect_equal(function, a, b, {3, 2}, wanted);
  Tensor nothing = full({2}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(addmm(nothing, a, b, {.beta = 0}).to_vector<float>(), product);
  EXPECT_EQ(addmv(whole({3}), a, b.select(1, 0), {.beta = 0}).to_vector<float>(),
            mv(a, b.select(1, 0)).to_vector<float>());
  Tensor c = whole({2, 3, 4}), d = whole({2, 4, 2}, 2);
  Floats batches = bmm(c, d).to_vector<float>(), both;
  for (std::size_t i = 0; i < 6; ++i) both.push_back(batches[i] + batches[i + 6] + bias[i % 2]);
  expect_equal([&](const Tensor& p, const Tensor& q) { return addbmm(x.to(p.dtype()), p, q); }, c,
               d, {3, 2}, both);
  EXPECT_EQ(baddbmm(x, c, d, {.beta = 0, .alpha = 2}).to_vector<float>()[5], 2 * batches[5]);
  expect_equal([&](const Tensor& p, const Tensor& q) { return addr(x.to(p.dtype()), p, q); },
               whole({3}), whole({2}, 4), {3, 2},
               [&] {
                 Floats sum = outer(whole({3}), whole({2}, 4)).to_vector<float>();
                 for (std::size_t i = 0; i < 6; ++i) sum[i] += bias[i % 2];
                 return sum;
               }());
  Tensor truth = addr(x > 100, whole({3}) > 0, whole({2}, 4) > 0);
  EXPECT_EQ(truth.dtype(), DType::boolean);
}

TEST(Products, Of16BitsAreRoundedOnce) {
  Tensor a = whole({3, 40}).to(bf16), b = whole({40, 2}, 2).to(bf16), x = full({2}, 0.125, bf16);
  Tensor exact = addmm(x.to(f32), a.to(f32), b.to(f32), {.alpha = 0.3});
  EXPECT_EQ(addmm(x, a, b, {.alpha = 0.3}).to(f32).to_vector<float>(),
            exact.to(bf16).to(f32).to_vector<float>());
}

TEST(Products, RefuseWhatDoesNotFit) {
  Tensor a = whole({3, 4}), b = whole({4, 2});
  expect_contains(error_of([&] { mm(a, a); }), "[mm] a is 3x4, b is 3x4");
  expect_contains(error_of([&] { mm(a, b.to(f64)); }), "[mm] a is f32, b is f64");
  expect_contains(error_of([&] { bmm(a, b); }), "they must have 3 and 3 axes");
  expect_contains(error_of([&] { addmm(whole({2}).to(i64), a, b); }), "[addmm] x is i64");
  expect_contains(
      error_of([&] { addmm(whole({2}).to(i64), a.to(i64), b.to(i64), {.alpha = 0.5}); }),
      "alpha is 0.5");
  expect_contains(error_of([&] { trace(whole({3})); }), "[trace] the operand is 3");
  expect_contains(error_of([&] {
                    cross(whole({2, 4}), whole({2, 4}));
                  }),
                  "an axis must have size 3");
  expect_contains(error_of([&] { tensordot(a, b, {0}, {1, 0}); }), "they go in pairs");
  expect_contains(error_of([&] { tensordot(a, b, 3); }), "[tensordot] 3 axes are summed over");
  Shape long_shape(14, 1);
  expect_contains(error_of([&] { tensordot(ones(long_shape), ones(long_shape), 0); }),
                  "a and b have 28 axes");
  expect_contains(error_of([&] {
                    cross(whole({3, 4}), whole({3, 4}), 1);
                  }),
                  "[cross] axis 1 of shape 3x4 has size 4");
  expect_contains(error_of([&] { outer(a, b); }), "[outer] a is 3x4, b is 4x2");
}

TEST(Products, OfTensorsAndBlocks) {
  Tensor a = whole({2, 3, 4}), b = whole({4, 3, 5}, 2);
  auto function = [](const Tensor& x, const Tensor& y) { return tensordot(x, y, {1, 2}, {1, 0}); };
  expect_equal(function, a, b, {2, 5}, einsum("ijk,kjl->il", {a, b}).to_vector<float>());
  EXPECT_EQ(tensordot(whole({2, 3}), whole({3, 2}), 1).to_vector<float>(),
            mm(whole({2, 3}), whole({3, 2})).to_vector<float>());
  EXPECT_EQ(tensordot(a, b, 0).shape(), (Shape{2, 3, 4, 4, 3, 5}));
  Tensor p = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}), q = Tensor::from(Floats{1, 10}, {2});
  expect_equal([](const Tensor& x, const Tensor& y) { return kron(x, y); }, p, q, {2, 4},
               {1, 10, 2, 20, 3, 30, 4, 40});
  Tensor x = Tensor::from(Floats{1, 2, 3, 0, 0, 1}, {2, 3}),
         y = Tensor::from(Floats{4, 5, 6, 1, 0, 0}, {2, 3});
  expect_equal([](const Tensor& m, const Tensor& n) { return cross(m, n); }, x, y, {2, 3},
               {-3, 6, -3, 0, 1, 0});
  EXPECT_EQ(cross(x.permute({1, 0}), y.permute({1, 0}), 0).shape(), (Shape{3, 2}));
  Tensor weight = whole({6, 3, 4}, 3);
  Tensor mixed = bilinear(whole({2, 3}), whole({2, 4}, 2), weight, ones({6}));
  Tensor expected = einsum("bi,oij,bj->bo", {whole({2, 3}), weight, whole({2, 4}, 2)}) + 1;
  EXPECT_EQ(mixed.to_vector<float>(), expected.to_vector<float>());
}

TEST(Products, OfThree) {
  Tensor a = whole({2, 3}), weight = whole({5, 3, 4}, 3), b = whole({2, 4}, 2);
  auto function = [&](const Tensor& x, const Tensor& y) {
    return trilinear(x, weight.to(x.dtype()), y, {{1, 3}, {0}, {1, 2}, {2, 3}});
  };
  expect_equal(function, a, b, {2, 5}, bilinear(a, b, weight).to_vector<float>());
  auto from_the_end = [&](const Tensor& x, const Tensor& y) {
    return trilinear(x, weight.to(x.dtype()), y, {{-3, -1}, {-4}, {-3, -2}, {-2, -1}});
  };
  expect_equal(from_the_end, a, b, {2, 5}, bilinear(a, b, weight).to_vector<float>());
  expect_contains(error_of([&] {
                    trilinear(a, weight, b, {{1, 3}, {}, {1, 2}, {2}});
                  }),
                  "[trilinear] an operand of 3 axes and 0 put in does not have the 4");
}

TEST(Products, OfMatricesWithoutEnd) {
  // The exponentials of a rotation, of a diagonal matrix, and of one whose square is 0.
  Tensor x = Tensor::from(Floats{0, -3, 3, 0, 2, 0, 0, -30, 0, 1000, 0, 0}, {3, 2, 2});
  const std::vector<double> wanted = {
      std::cos(3), -std::sin(3),  std::sin(3), std::cos(3), std::exp(2), 0,
      0,           std::exp(-30), 1,           1000,        0,           1};
  auto function = [](const Tensor& t) { return matrix_exp(t); };
  for (const Tensor& y : {function(x), compile(function)(x)})
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(y.to_vector<float>()[i], wanted[i], 1e-5 * std::abs(wanted[i]) + 2e-6) << i;
  Tensor wide = function(x.to(f64));
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(wide.to_vector<double>()[i], wanted[i], 1e-13 * std::abs(wanted[i]) + 1e-14) << i;
  EXPECT_EQ(function(zeros({0, 3, 3})).shape(), (Shape{0, 3, 3}));
  expect_contains(error_of([&] { matrix_exp(whole({2, 3})); }), "it must be floating, of square");
}

// The second operand is a part of what is computed, which begins behind its first element.
TEST(Products, OfPartsOfWhatIsComputed) {
  const Tensor weight = whole({8, 3}), x = whole({3, 3, 5});
  auto of_columns = [&](const Tensor& t) { return matmul(weight, relu(t).slice(2, 1, 5)); };
  auto of_images = [&](const Tensor& t) {
    return matmul(weight, (t * t.slice(1, 0, 1)).slice(0, 1, 2));
  };
  for (auto& function : std::vector<std::function<Tensor(const Tensor&)>>{of_columns, of_images})
    EXPECT_EQ(compile(function)(x).to_vector<float>(), function(x).to_vector<float>());
}

TEST(Products, ScaleBothTermsOfASum) {
  const Tensor a = Tensor::from(std::vector<float>{1, 2}, {1, 2}),
               b = Tensor::from(std::vector<float>{3, 4}, {2, 1});
  EXPECT_EQ(gemm(a, b).item<float>(), 11);
  EXPECT_EQ(gemm(a, b, {}, {.beta = 1, .alpha = 2}).item<float>(), 22);
  EXPECT_EQ(gemm(a, b, ones({1}), {.beta = 3, .alpha = 2}).item<float>(), 25);
  const Tensor c = gemm(a.to(i64), b.to(i64), ones({1}, i64), {.beta = 3.5, .alpha = 2.5});
  EXPECT_EQ(c.item<std::int64_t>(), 25);
  expect_contains(error_of([&] { gemm(a, ones({2})); }), "[gemm] 1x2 times 2");
}

}  // namespace
}  // namespace tilewright::products_test
