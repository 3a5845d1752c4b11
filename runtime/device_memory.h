// Memory that is not the host's: where a device's buffers come from, and how bytes get there.
//
// The owner of a device implements this; buffers (buffer.h) and their holders need not know more.
// Work on a device is done in the order in which it is asked for: a copy sees the results of
// earlier launches, and a freed block is used again only by later requests.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::string name() const = 0;  // of the device, as "cuda:0"

  // At least this many bytes, aligned to 256. If there is too little memory, raises `Error` that
  // names the current holders.
  virtual void* take(std::int64_t bytes) = 0;
  virtual void give_back(void* block) noexcept = 0;

  // The host's memory may be changed, or is complete, when the call returns.
  virtual void copy_from_host(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, std::int64_t bytes) = 0;
  // Copies from the memory of another device; false if it can only go through the host, and nothing
  // was done.
  virtual bool copy_from(void* /*to*/, DeviceMemory& /*other*/, const void* /*from*/,
                         std::int64_t /*bytes*/) {
    return false;
  }
  // Within this memory.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  // True if kernels of the device can read memory at this address, as far as is known.
  virtual bool reaches(const void* /*address*/) const { return true; }
  // Waits until all that was asked for is done. Raises the errors of kernels.
  virtual void synchronize() = 0;
};

}  // namespace tilewright
