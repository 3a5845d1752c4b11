#include "graph/tensor/recording/running_captures.h"

#include <algorithm>

namespace tilewright::graph {

constinit RunningCapture::Places RunningCapture::places_ = {};

RunningCapture::RunningCapture(std::uint64_t serial) noexcept {
  for (std::atomic<std::uint64_t>& place : places_) {
    std::uint64_t free = 0;
    if (place.load(std::memory_order_relaxed) != 0 || !place.compare_exchange_strong(free, serial))
      continue;
    place_ = &place;
    return;
  }
}

bool RunningCapture::is_of_one(std::uint64_t serial) noexcept {
  return serial != 0 && std::ranges::any_of(places_, [=](const auto& place) {
           return place.load(std::memory_order_acquire) == serial;
         });
}

}  // namespace tilewright::graph
