#include "graph/tensor/memory/memory_overlap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
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

namespace {

struct ByteSpan {
  const std::byte *low, *high;
};

ByteSpan span_of(const Elements& of) {
  const auto* begin = static_cast<const std::byte*>(of.buffer->data());
  auto [low, high] = extent_of(of);
  return {begin + low, begin + high};
}

}  // namespace

bool share_bytes(const Elements& a, const Elements& b) {
  const ByteSpan x = span_of(a), y = span_of(b);
  return x.low < y.high && y.low < x.high;
}

// Those that begin before the end of one that begins earlier, and what they are so found with.
std::vector<bool> sharing_bytes(const std::vector<Elements>& all) {
  struct Numbered {
    ByteSpan span;
    std::size_t number;
  };
  std::vector<Numbered> spans;
  spans.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const ByteSpan span = span_of(all[i]); span.low < span.high) spans.push_back({span, i});
  std::ranges::sort(spans, std::less{}, [](const Numbered& each) { return each.span.low; });
  std::vector<bool> found(all.size(), false);
  const Numbered* furthest = nullptr;
  for (const Numbered& each : spans) {
    if (furthest != nullptr && each.span.low < furthest->span.high) {
      found[each.number] = true;
      found[furthest->number] = true;
    }
    if (furthest == nullptr || furthest->span.high < each.span.high) furthest = &each;
  }
  return found;
}

// True if they are blocks of one array without an element in common, such as halves of its columns:
// by their sizes and strides alone. False: they may have one.
// The distance is a number of steps along each axis, where what both cover of the axes within fits
// into one step of the axis around.
static bool are_blocks_apart(const Elements& a, const Elements& b) {
  if (a.buffer != b.buffer || a.dtype != b.dtype || a.view.strides != b.view.strides) return false;
  std::vector<int> axes(static_cast<std::size_t>(a.view.shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::ranges::sort(axes, std::greater{}, [&](int axis) { return a.view.strides[axis]; });
  const StridedView &first = a.view.offset <= b.view.offset ? a.view : b.view,
                    &second = &first == &a.view ? b.view : a.view;
  std::int64_t distance = second.offset - first.offset, room = INT64_MAX;
  bool are_apart = false;
  for (int axis : axes) {
    const std::int64_t stride = first.strides[axis];
    if (stride <= 0) return false;
    const std::int64_t steps = distance / stride;
    const std::int64_t covered = std::max(first.shape[axis], steps + second.shape[axis]);
    if (covered > room / stride) return false;
    are_apart = are_apart || steps >= first.shape[axis];
    distance -= steps * stride;
    room = stride;
  }
  return are_apart || distance != 0;  // what is left is less than a step
}

bool may_overlap(const Elements& a, const Elements& b) {
  if (!share_bytes(a, b) || are_blocks_apart(a, b)) return false;
  return a.buffer != b.buffer || a.dtype != b.dtype || overlap(a, b);
}

}  // namespace tilewright::graph
