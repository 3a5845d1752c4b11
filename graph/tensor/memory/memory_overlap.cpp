#include "graph/tensor/memory/memory_overlap.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tilewright::graph {

// The bytes [first, second) of its buffer that elements may touch.
static std::pair<std::int64_t, std::int64_t> extent_of(const Elements& of) {
  std::int64_t low = of.view.offset, high = low;
  for (int i = 0; i < of.view.shape.rank(); ++i) {
    if (of.view.shape[i] == 0) return {0, 0};
    std::int64_t reach = (of.view.shape[i] - 1) * of.view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  std::int64_t size = size_bytes(of.dtype);
  return {low * size, (high + 1) * size};
}
bool overlap(const Elements& a, const Elements& b) {
  if (a.buffer != b.buffer) return false;
  auto [a_low, a_high] = extent_of(a);
  auto [b_low, b_high] = extent_of(b);
  if (a_low >= b_high || b_low >= a_high) return false;
  // Interleaved slices of one array: exact for what select and slice make.
  std::vector<std::int64_t> x = element_offsets(a.view), y = element_offsets(b.view);
  std::ranges::sort(x);
  return std::ranges::any_of(y, [&](std::int64_t i) { return std::ranges::binary_search(x, i); });
}

bool share_bytes(const Elements& a, const Elements& b) {
  auto begin = [](const Elements& of) { return static_cast<const std::byte*>(of.buffer->data()); };
  auto [a_low, a_high] = extent_of(a);
  auto [b_low, b_high] = extent_of(b);
  return begin(a) + a_low < begin(b) + b_high && begin(b) + b_low < begin(a) + a_high;
}

}  // namespace tilewright::graph
