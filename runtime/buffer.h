// Owned memory, aligned to 64 bytes, of the host or of a device.
//
// Every tensor's bytes live in a Buffer or in memory the user owns. On the host it comes from a
// pool that rounds sizes up to a class and hands a freed block of that class out again, so that
// steady-state execution allocates nothing from the system; a device has a pool of its own
// (device_memory.h). Thread safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/device_memory.h"

namespace tilewright {

class Buffer {
 public:
  Buffer() = default;
  // The serial of the buffer made last; later ones have greater numbers.
  static std::uint64_t latest_serial() { return serials_.load(std::memory_order_relaxed); }
  // Uninitialised memory of a device, or of the host where that is null; the device must outlive
  // it. Raises `Error` naming the size if too little memory is left.
  static std::shared_ptr<Buffer> allocate(std::int64_t size_bytes, DeviceMemory* memory = nullptr);
  // Memory of the user's, kept alive by `owner` (which may be empty). Raises `Error` unless `data`
  // is aligned to 64 bytes.
  static std::shared_ptr<Buffer> wrap(void* data, std::int64_t size_bytes,
                                      std::shared_ptr<void> owner = {},
                                      DeviceMemory* memory = nullptr);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }              // an address of the memory it lies in
  DeviceMemory* memory() const { return memory_; }  // null: the host's
  std::int64_t size_bytes() const { return size_bytes_; }
  // Forbids further writes, because copies exist that would not follow. A write on behalf of a user
  // checks this first. (Without copies, a plan may rely on InputMemory::is_frozen
  // of graph.)
  void forbid_writes() { is_read_only_ = true; }
  void allow_writes() { is_read_only_ = false; }  // once the last such copy is gone
  bool is_read_only() const { return is_read_only_; }
  std::uint64_t serial() const { return serial_; }  // of all buffers of the process, from 1

 private:
  void* data_ = nullptr;
  std::int64_t size_bytes_ = 0;
  std::int64_t class_bytes_ = 0;  // 0: not the host's pool's
  DeviceMemory* memory_ = nullptr;
  bool is_devices_ = false;  // to be given back to `memory_`
  std::atomic<bool> is_read_only_ = false;
  inline static std::atomic<std::uint64_t> serials_ = 0;
  std::uint64_t serial_ = 1 + serials_.fetch_add(1, std::memory_order_relaxed);
  std::shared_ptr<void> owner_;
};

struct PoolStatistics {
  std::int64_t live_bytes, cached_bytes, peak_live_bytes, system_allocations;
};
PoolStatistics pool_statistics();
void release_cached_memory();  // gives the pool's free blocks back to the system

}  // namespace tilewright
