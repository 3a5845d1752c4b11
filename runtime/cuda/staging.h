// Small copies to the device that nobody waits for.
//
// The driver reads memory of the host that it does not know by copying it to memory that it does,
// and waits for the stream before that. A decode step that sends two numbers would wait twice for
// the step before it. So small things go through a ring of pinned memory here: the caller's bytes
// are copied into it at once, and the device takes them when the stream comes to it. The ring has
// two halves; before one is used again the copies out of it are waited for, which are long done.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/cuda/types.h"

namespace tilewright::cuda {

class Context;
class Event;

class StagingRing {
 public:
  static constexpr std::int64_t half_bytes = 128 << 10;
  static constexpr std::int64_t largest = 16 << 10;  // of one copy

  explicit StagingRing(Context& context) : context_(context) {}
  ~StagingRing();
  // At most `largest` bytes. False where the system has no pinned memory. Thread safe.
  bool copy(DevicePointer to, const void* from, std::int64_t bytes);

 private:
  bool open();
  Context& context_;
  std::mutex mutex_;
  struct Half {
    std::unique_ptr<Event> last;    // copy out of it
    StreamHandle stream = nullptr;  // of that copy
  };
  char* ring_ = nullptr;
  bool is_open_ = false;
  std::size_t half_ = 0;   // in use
  std::int64_t used_ = 0;  // bytes of it
  Half halves_[2];
};

}  // namespace tilewright::cuda
