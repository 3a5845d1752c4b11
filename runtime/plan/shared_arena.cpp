#include "runtime/plan/shared_arena.h"

#include "runtime/device_pool.h"

namespace tilewright {

void SharedArena::reserve(std::int64_t bytes) {
  if (bytes <= this->bytes()) return;
  MemoryOwner owner("intermediate values");
  buffer_ = Buffer::allocate(bytes, memory_);
  ++number_;
}

}  // namespace tilewright
