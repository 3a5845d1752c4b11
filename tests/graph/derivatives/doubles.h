// Vectors of f64 and their elements, for tests of derivatives.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing_doubles {

using Doubles = std::vector<double>;

inline Tensor vector(const Doubles& elements) {
  return Tensor::from(elements, {static_cast<std::int64_t>(elements.size())});
}
inline Doubles values(const Tensor& x) { return x.to(f64).to_vector<double>(); }
inline void expect_values(const Tensor& x, const Doubles& wanted, double tolerance = 1e-9) {
  const Doubles got = values(x);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

}  // namespace tilewright::testing_doubles
