// Tensors of tests, and comparing them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Repeating after 97 elements, from -0.3 on.
inline Tensor ramp(const Shape& shape, float step = 0.01F) {
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = step * static_cast<float>(i % 97) - 0.3F;
  return Tensor::from(elements, shape);
}

// 0, 1, 2, ... in the given shape.
inline Tensor counted(const Shape& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(element_count(shape)));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return Tensor::from(numbers, shape);
}

// The largest difference, as a share of the largest number expected.
inline double relative_difference(const std::vector<float>& actual,
                                  const std::vector<float>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    difference = std::max<double>(difference, std::abs(actual[i] - expected[i]));
    largest = std::max<double>(largest, std::abs(expected[i]));
  }
  return difference / largest;
}

inline void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-5) << i;
}

}  // namespace tilewright
