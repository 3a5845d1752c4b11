// Elements without a pattern that a wrong index could hide in.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing_noise {

// Between -scale and scale.
inline Tensor noise(const Shape& shape, std::uint32_t seed = 1, float scale = 1) {
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) {
    seed = seed * 1664525 + 1013904223;
    x = scale * (static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1);
  }
  return Tensor::from(elements, shape);
}

}  // namespace tilewright::testing_noise
