#include "runtime/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/parallel.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/primary_context.h"

namespace tilewright::cuda {
namespace {

struct Bytes {
  char* to;
  const char* from;
  std::int64_t count;
};
constexpr std::int64_t bytes_of_piece = 256 << 10;

// One thread alone reads less than a link to the device takes.
void copy_bytes(void* to, const void* from, std::int64_t count) {
  Bytes bytes{static_cast<char*>(to), static_cast<const char*>(from), count};
  auto copy_pieces = [](void* context, std::int64_t begin, std::int64_t end, int) {
    const auto& b = *static_cast<const Bytes*>(context);
    std::int64_t first = begin * bytes_of_piece, last = std::min(end * bytes_of_piece, b.count);
    std::memcpy(b.to + first, b.from + first, static_cast<std::size_t>(last - first));
  };
  parallel_for((count + bytes_of_piece - 1) / bytes_of_piece, copy_pieces, &bytes);
}

}  // namespace

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
  if (driver().cuMemHostAlloc(&ring, static_cast<std::size_t>(2 * half_bytes_), 0) ==
      Result::success)
    ring_ = static_cast<char*>(ring);
  is_open_ = true;
  return ring_ != nullptr;
}

void StagingRing::next_half() {
  half_ = 1 - half_;
  used_ = 0;
  halves_[half_].last->wait();
  halves_[half_].stream = nullptr;
}

// One event tells when all copies of a half are done: those of several streams are put in order.
void StagingRing::use(Half& half) {
  StreamHandle stream = context_.stream();
  if (half.stream != nullptr && half.stream != stream) half.last->make_stream_wait();
  half.stream = stream;
}

// Without an event that later uses wait for, the copy must be waited for here.
void StagingRing::record(Half& half) {
  try {
    half.last->record();
  } catch (...) {
    context_.synchronize();
    throw;
  }
}

bool StagingRing::copy_from_host(DevicePointer to, const void* from, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!open()) return false;
  const char* source = static_cast<const char*>(from);
  for (std::int64_t piece = 0; bytes > 0; bytes -= piece) {
    piece = std::min(bytes, half_bytes_);
    if (used_ + piece > half_bytes_) next_half();
    Half& half = halves_[half_];
    use(half);
    copy_bytes(place(), source, piece);
    must(driver().cuMemcpyHtoDAsync(to, place(), static_cast<std::size_t>(piece), half.stream),
         "cuMemcpyHtoDAsync");
    used_ += (piece + 63) / 64 * 64;
    record(half);
    to += static_cast<DevicePointer>(piece);
    source += piece;
  }
  return true;
}

// While one piece is copied out of the ring the next one is on its way into it.
bool StagingRing::copy_to_host(void* to, DevicePointer from, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!open()) return false;
  struct Piece {
    const Half* half = nullptr;
    const char* place = nullptr;
    std::int64_t bytes = 0;
  };
  char* target = static_cast<char*>(to);
  for (Piece former; bytes > 0 || former.bytes > 0;) {
    Piece next;
    if (bytes > 0) {
      next_half();
      Half& half = halves_[half_];
      use(half);
      next = {&half, place(), std::min(bytes, half_bytes_)};
      must(driver().cuMemcpyDtoHAsync(place(), from, static_cast<std::size_t>(next.bytes),
                                      half.stream),
           "cuMemcpyDtoHAsync");
      used_ = half_bytes_;
      record(half);
      from += static_cast<DevicePointer>(next.bytes);
      bytes -= next.bytes;
    }
    if (former.bytes > 0) {
      former.half->last->wait();
      copy_bytes(target, former.place, former.bytes);
      target += former.bytes;
    }
    former = next;
  }
  return true;
}

}  // namespace tilewright::cuda
