#include "graph/run/memory.h"

#include <algorithm>
#include <numeric>

namespace tilewright::graph {
MemoryLayout lay_out(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  MemoryLayout result;
  result.offsets.resize(lifetimes.size());
  std::vector<std::size_t> placed;  // by offset
  for (std::size_t i : order) {
    std::int64_t offset = 0, bytes = aligned(lifetimes[i].bytes);
    for (std::size_t other : placed) {
      const Lifetime &a = lifetimes[i], &b = lifetimes[other];
      if (a.last < b.first || b.last < a.first) continue;
      if (offset + bytes <= result.offsets[other]) break;  // into the gap before it
      offset = std::max(offset, result.offsets[other] + aligned(b.bytes));
    }
    result.offsets[i] = offset;
    result.bytes = std::max(result.bytes, offset + bytes);
    auto after = std::ranges::upper_bound(placed, offset, {},
                                          [&](std::size_t other) { return result.offsets[other]; });
    placed.insert(after, i);
  }
  return result;
}

}  // namespace tilewright::graph
