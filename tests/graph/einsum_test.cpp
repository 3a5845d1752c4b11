// Einsum against products written out, eager and compiled.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/products.h"
#include "tests/errors.h"
#include "tests/graph/whole_products.h"

namespace tilewright::einsum_test {
namespace {

using namespace testing_products;

TEST(Einsum, NamesAxes) {
  Tensor a = whole({2, 3, 4}), b = whole({2, 4, 5}, 2);
  const Floats product = bmm(a, b).to_vector<float>();
  auto of = [](std::string equation) {
    return [equation](const Tensor& x, const Tensor& y) { return einsum(equation, {x, y}); };
  };
  expect_equal(of("bij,bjk->bik"), a, b, {2, 3, 5}, product);
  expect_equal(of("b i j, b j k -> b i k"), a, b, {2, 3, 5}, product);
  expect_equal(of("...ij,...jk"), a, b, {2, 3, 5}, product);
  Floats turned;
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t i = 0; i < 3; ++i)
      turned.push_back(product[i * 5 + k] + product[15 + i * 5 + k]);
  expect_equal(of("bij,bjk->ki"), a, b, {5, 3}, turned);
  expect_equal(of("bi...,b...k->...ki"), a, b.select(1, 0).unsqueeze(1).expand({2, 4, 5}),
               {4, 5, 3},
               einsum("bij,bjk->jki", {a, b.select(1, 0).unsqueeze(1).expand({2, 4, 5})})
                   .to_vector<float>());
  Tensor u = whole({3}), v = whole({3}, 2), w = whole({3}, 3);
  Floats three;
  for (std::size_t i = 0; i < 3; ++i)
    three.push_back(u.to_vector<float>()[i] * v.to_vector<float>()[i] * w.to_vector<float>()[i]);
  EXPECT_EQ(einsum("i,i,i->i", {u, v, w}).to_vector<float>(), three);
  EXPECT_EQ(einsum("i,i,i", {u, v, w}).item<float>(), three[0] + three[1] + three[2]);
}

TEST(Einsum, GoesAlongDiagonals) {
  Tensor square = whole({3, 3}), cube = whole({2, 3, 3});
  const Floats x = square.to_vector<float>();
  EXPECT_EQ(einsum("ii", {square}).item<float>(), x[0] + x[4] + x[8]);
  EXPECT_EQ(einsum("ii->i", {square}).to_vector<float>(), (Floats{x[0], x[4], x[8]}));
  EXPECT_EQ(einsum("ij->ji", {square}).to_vector<float>()[1], x[3]);
  EXPECT_EQ(einsum("bii->b", {cube}).shape(), (Shape{2}));
  EXPECT_EQ(einsum("ij->", {square}).item<float>(), sum(square).item<float>());
  EXPECT_EQ(trace(square).item<float>(), x[0] + x[4] + x[8]);
  EXPECT_EQ(trace(whole({2, 4}).to(i32)).dtype(), i64);
  EXPECT_EQ(trace(whole({4, 2})).item<float>(),
            whole({4, 2}).to_vector<float>()[0] + whole({4, 2}).to_vector<float>()[3]);
}

TEST(Einsum, RefusesEquationsThatDoNotFit) {
  Tensor a = whole({2, 3});
  expect_contains(error_of([&] { einsum("ij,jk", {a}); }), "there are 1 operands");
  expect_contains(error_of([&] { einsum("ij", {a, a}); }), "there are 2 operands");
  expect_contains(error_of([&] { einsum("ijk", {a}); }), "an operand of 2 axes is named 'ijk'");
  expect_contains(error_of([&] { einsum("i1", {a}); }), "'1' is not a letter");
  expect_contains(error_of([&] { einsum("ij->ik", {a}); }), "the result names 'k'");
  expect_contains(error_of([&] { einsum("ij->ii", {a}); }), "the result names 'i'");
  expect_contains(error_of([&] { einsum("ii", {a}); }), "axis 'i' has sizes 2 and 3");
  expect_contains(error_of([&] {
                    einsum("ij,ij", {a, whole({3, 3})});
                  }),
                  "axis 'i' has sizes 2 and 3");
  expect_contains(error_of([&] { einsum("ij,ij", {a, a.to(f64)}); }), "[einsum] operand 1 is f64");
  expect_contains(error_of([&] { einsum("", {}); }), "there are no operands");
}

}  // namespace
}  // namespace tilewright::einsum_test
