#include "runtime/cuda/staging.h"

#include <cstring>

#include "runtime/cuda/context.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/error.h"

namespace tilewright::cuda {

// Streams that are not the context's own may still read from it; after a context was lost, none
// does.
StagingRing::~StagingRing() {
  if (ring_ == nullptr) return;
  try {
    for (Half& half : halves_) half.last->wait();
  } catch (const Error&) {
  }
  driver().cuMemFreeHost(ring_);
}

bool StagingRing::open() {
  if (is_open_) return ring_ != nullptr;
  for (Half& half : halves_) half.last = std::make_unique<Event>(context_, false);
  void* ring = nullptr;
  if (driver().cuMemHostAlloc(&ring, 2 * half_bytes, 0) == Result::success)
    ring_ = static_cast<char*>(ring);
  is_open_ = true;
  return ring_ != nullptr;
}

bool StagingRing::copy(DevicePointer to, const void* from, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!open()) return false;
  if (used_ + bytes > half_bytes) {
    half_ = 1 - half_;
    used_ = 0;
    halves_[half_].last->wait();
    halves_[half_].stream = nullptr;
  }
  Half& half = halves_[half_];
  StreamHandle stream = context_.stream();
  // One event tells when all copies out of a half are done: those of several streams are put in
  // order.
  if (half.stream != nullptr && half.stream != stream) half.last->make_stream_wait();
  half.stream = stream;
  char* place = ring_ + static_cast<std::int64_t>(half_) * half_bytes + used_;
  std::memcpy(place, from, static_cast<std::size_t>(bytes));
  used_ += (bytes + 63) / 64 * 64;
  must(driver().cuMemcpyHtoDAsync(to, place, static_cast<std::size_t>(bytes), stream),
       "cuMemcpyHtoDAsync");
  half.last->record();
  return true;
}

}  // namespace tilewright::cuda
