#include "runtime/buffer.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cpu/system_memory.h"
#include "runtime/base/fork_gate.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#endif

namespace tilewright {
namespace {

class Pool {
 public:
  // A block of `class_bytes`, or null where the system has none left even after the cached blocks
  // have gone back to it.
  void* take(std::int64_t class_bytes) {
    std::lock_guard lock(mutex_);
    void* block = nullptr;
    if (auto free = free_.find(class_bytes); free != free_.end() && !free->second.empty()) {
      block = free->second.back();
      free->second.pop_back();
      statistics_.cached_bytes -= class_bytes;
    } else {
      block = allocate_block(class_bytes);
      if (block == nullptr && statistics_.cached_bytes > 0) {
        release();
        block = allocate_block(class_bytes);
      }
      if (block == nullptr) return nullptr;
      ++statistics_.system_allocations;
    }
    statistics_.live_bytes += class_bytes;
    statistics_.peak_live_bytes = std::max(statistics_.peak_live_bytes, statistics_.live_bytes);
    return block;
  }

  // Never raises: a block that there is no memory to keep in mind goes back to the system.
  void give_back(void* block, std::int64_t class_bytes) noexcept {
    std::lock_guard lock(mutex_);
    statistics_.live_bytes -= class_bytes;
    try {
      free_[class_bytes].push_back(block);
    } catch (const std::bad_alloc&) {
      ASAN_UNPOISON_MEMORY_REGION(block, static_cast<std::size_t>(class_bytes));
      return free_block(block, class_bytes);
    }
    statistics_.cached_bytes += class_bytes;
  }

  void release_all() {
    std::lock_guard lock(mutex_);
    release();
  }

  PoolStatistics statistics() {
    std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  void release() {
    for (auto& [class_bytes, blocks] : free_)
      for (void* block : blocks) {
        ASAN_UNPOISON_MEMORY_REGION(block, static_cast<std::size_t>(class_bytes));
        free_block(block, class_bytes);
      }
    free_.clear();
    statistics_.cached_bytes = 0;
  }

  std::mutex mutex_;
  std::unordered_map<std::int64_t, std::vector<void*>> free_;
  PoolStatistics statistics_{};
};

// Never destroyed: buffers may live in static objects.
Pool& pool() {
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(std::int64_t size_bytes, DeviceMemory* memory) {
  require(size_bytes >= 0, "[buffer] the size is ", size_bytes, " bytes; 0 or more would be right");
  InsideLibrary inside;
  if (memory != nullptr) {
    auto buffer = std::make_shared<Buffer>();
    buffer->data_ = memory->take(size_bytes);
    buffer->size_bytes_ = size_bytes;
    buffer->memory_ = memory;
    buffer->is_devices_ = true;
    return buffer;
  }
  auto buffer = std::make_shared<Buffer>();  // first: where it fails no block is lost
  std::int64_t class_bytes = block_size_for(size_bytes);
  void* block = class_bytes == 0 ? nullptr : pool().take(class_bytes);
  if (block == nullptr)
    raise_error(concat("[buffer] the system has no memory for ", size_bytes, " bytes; ",
                       pool().statistics().live_bytes,
                       " bytes are in use and none are cached: free tensors or ask for less"));
  buffer->data_ = block;
  buffer->size_bytes_ = size_bytes;
  buffer->class_bytes_ = class_bytes;
  // With the address sanitizer only the bytes asked for may be touched, and those of cached blocks
  // not at all.
  ASAN_POISON_MEMORY_REGION(block, static_cast<std::size_t>(class_bytes));
  ASAN_UNPOISON_MEMORY_REGION(block, static_cast<std::size_t>(size_bytes));
  return buffer;
}

std::shared_ptr<Buffer> Buffer::wrap(void* data, std::int64_t size_bytes,
                                     std::shared_ptr<void> owner, DeviceMemory* memory) {
  require(size_bytes >= 0, "[buffer] the size is ", size_bytes, " bytes; 0 or more would be right");
  auto address = reinterpret_cast<std::uintptr_t>(data);
  require(address % block_alignment == 0, "[buffer] the memory at ", data, " lies ",
          address % block_alignment, " bytes past a multiple of ", block_alignment,
          "; memory aligned to ", block_alignment, " bytes would be right");
  auto buffer = std::make_shared<Buffer>();
  buffer->data_ = data;
  buffer->size_bytes_ = size_bytes;
  buffer->owner_ = std::move(owner);
  buffer->memory_ = memory;
  return buffer;
}

Buffer::~Buffer() {
  InsideLibrary inside;
  if (is_devices_) memory_->give_back(data_);
  if (class_bytes_ == 0) return;
  ASAN_POISON_MEMORY_REGION(data_, static_cast<std::size_t>(class_bytes_));
  pool().give_back(data_, class_bytes_);
}

PoolStatistics pool_statistics() {
  InsideLibrary inside;
  return pool().statistics();
}
void release_cached_memory() {
  InsideLibrary inside;
  pool().release_all();
}

}  // namespace tilewright
