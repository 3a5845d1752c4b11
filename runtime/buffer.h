// Owned memory on the host, aligned to 64 bytes, from a pool that keeps freed blocks for reuse.
//
// Every tensor's bytes live in a Buffer or in memory the user owns. The pool rounds sizes up to a
// class and hands a freed block of that class out again, so that steady-state execution allocates
// nothing from the system. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace tilewright {

class Buffer {
 public:
  Buffer() = default;
  // Uninitialised memory; raises `Error` naming the size where the system has none left.
  static std::shared_ptr<Buffer> allocate(std::int64_t size_bytes);
  // Memory of the user's, kept alive by `owner` (which may be empty). Raises `Error` unless `data`
  // is aligned to 64 bytes.
  static std::shared_ptr<Buffer> wrap(void* data, std::int64_t size_bytes,
                                      std::shared_ptr<void> owner = {});
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t size_bytes_ = 0;
  std::int64_t class_bytes_ = 0;  // 0: not the pool's
  std::shared_ptr<void> owner_;
};

struct PoolStatistics {
  std::int64_t live_bytes, cached_bytes, peak_live_bytes, system_allocations;
};
PoolStatistics pool_statistics();
void release_cached_memory();  // gives the pool's free blocks back to the system

}  // namespace tilewright
