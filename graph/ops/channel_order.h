// The orders of axes that move channels, axis 1, to the end and from there back to their place.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace tilewright::graph {

// As the axes of a permutation: [N, C, axes..] becomes [N, axes.., C]. At least two axes.
inline std::vector<int> order_to_last(int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}
// [N, axes.., C] becomes [N, C, axes..].
inline std::vector<int> order_from_last(int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

}  // namespace tilewright::graph
