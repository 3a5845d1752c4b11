// Random tensors for layers, and comparing their values.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "models/layers/random.h"

namespace tilewright::testing_layers {

using Values = std::vector<float>;

inline Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor = Tensor::empty(shape);
  fill_uniform(tensor, -1, 1, RandomStream(seed));
  return tensor;
}
inline void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

}  // namespace tilewright::testing_layers
