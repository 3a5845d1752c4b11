// Products of small whole numbers, whose sums are exact, at once, compiled and of integers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::testing_products {

using Floats = std::vector<float>;
using Function = std::function<Tensor(const Tensor&, const Tensor&)>;

// Small whole numbers, whose sums are exact.
inline Tensor whole(const Shape& shape, int seed = 1) {
  Floats x;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    x.push_back(static_cast<float>((i * (seed + 4) + seed) % 11 - 5));
  return Tensor::from(x, shape);
}

inline void expect_equal(const Function& function, const Tensor& a, const Tensor& b,
                         const Shape& shape, const Floats& wanted) {
  for (const Tensor& y : {function(a, b), compile(function)(a, b)}) {
    EXPECT_EQ(y.shape(), shape);
    EXPECT_EQ(y.to(f32).to_vector<float>(), wanted);
  }
  Tensor of_integers = function(a.to(i64), b.to(i64));
  EXPECT_EQ(of_integers.dtype(), i64);
  EXPECT_EQ(of_integers.to(f32).to_vector<float>(), wanted);
}

}  // namespace tilewright::testing_products
