// Elements of buffers, for tests that run plans by hand.
#pragma once

#include <vector>

#include "graph/run/plan.h"

namespace tilewright::graph::testing_buffers {

template <typename T>
std::vector<T> elements(const Buffer& buffer, std::size_t count) {
  auto* data = static_cast<const T*>(buffer.data());
  return {data, data + count};
}
inline std::vector<float> counting(std::size_t count, float start = 0) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = start + static_cast<float>(i);
  return result;
}

}  // namespace tilewright::graph::testing_buffers
