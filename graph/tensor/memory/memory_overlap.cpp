#include "graph/tensor/recording/memory_overlap.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tilewright::graph {

// The bytes [first, second) of its buffer that a concrete body may touch.
static std::pair<std::int64_t, std::int64_t> extent_of(const TensorBody& body) {
  std::int64_t low = body.view.offset, high = low;
  for (int i = 0; i < body.view.shape.rank(); ++i) {
    if (body.view.shape[i] == 0) return {0, 0};
    std::int64_t reach = (body.view.shape[i] - 1) * body.view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  std::int64_t size = size_bytes(body.dtype);
  return {low * size, (high + 1) * size};
}
bool overlap(const TensorBody& a, const TensorBody& b) {
  if (a.buffer != b.buffer) return false;
  auto [a_low, a_high] = extent_of(a);
  auto [b_low, b_high] = extent_of(b);
  if (a_low >= b_high || b_low >= a_high) return false;
  // Interleaved slices of one array: exact for what select and slice make.
  std::vector<std::int64_t> x = element_offsets(a.view), y = element_offsets(b.view);
  std::ranges::sort(x);
  return std::ranges::any_of(y, [&](std::int64_t i) { return std::ranges::binary_search(x, i); });
}

bool share_bytes(const TensorBody& a, const TensorBody& b) {
  auto begin = [](const TensorBody& body) { return static_cast<std::byte*>(body.buffer->data()); };
  auto [a_low, a_high] = extent_of(a);
  auto [b_low, b_high] = extent_of(b);
  return begin(a) + a_low < begin(b) + b_high && begin(b) + b_low < begin(a) + a_high;
}

bool is_stale(const TensorBody& symbolic) {
  for (const TensorBody* view = &symbolic; view->base; view = view->base.get())
    if (view->base->version != view->base_version) return true;
  return false;
}

}  // namespace tilewright::graph
