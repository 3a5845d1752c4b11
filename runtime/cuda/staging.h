// Copies between the device and memory of the host that the driver does not know, through memory
// that it does.
//
// The driver reads memory of the host that is not pinned by copying it to memory that is, piece by
// piece, and waits for the stream before that. A decode step that sends two numbers would wait
// twice for the step before it, and weights would be read, sent and waited for in turns. So there
// is a ring of pinned memory here: the caller's bytes are copied into it by all threads of the host
// while the device takes those before them, and the only wait is for room. The ring has two halves;
// before one is used again the copies out of it are waited for.
//
// A context has a small ring for small things, which are many and must not queue behind large ones,
// and a large one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/cuda/driver/types.h"

namespace tilewright::cuda {

class PrimaryContext;
class Event;

class StagingRing {
 public:
  static constexpr std::int64_t small_half = 128 << 10, large_half = 4 << 20;
  static constexpr std::int64_t largest_small = 16 << 10;  // of one copy

  StagingRing(PrimaryContext& context, std::int64_t half_bytes)
      : context_(context), half_bytes_(half_bytes) {}
  ~StagingRing();
  // The caller's bytes are read when it returns, and on their way in the thread's stream. False
  // where the system has no pinned memory. Thread safe.
  bool copy_from_host(DevicePointer to, const void* from, std::int64_t bytes);
  // The bytes are there when it returns. Else as the other.
  bool copy_to_host(void* to, DevicePointer from, std::int64_t bytes);

 private:
  struct Half {
    std::unique_ptr<Event> last;    // copy out of it, or into it
    StreamHandle stream = nullptr;  // of that copy
  };
  bool open();
  void next_half();
  void use(Half& half);
  void record(Half& half);
  char* place() const { return ring_ + static_cast<std::int64_t>(half_) * half_bytes_ + used_; }

  PrimaryContext& context_;
  const std::int64_t half_bytes_;
  std::mutex mutex_;
  char* ring_ = nullptr;
  bool is_open_ = false;
  std::size_t half_ = 0;   // in use
  std::int64_t used_ = 0;  // bytes of it
  Half halves_[2];
};

}  // namespace tilewright::cuda
