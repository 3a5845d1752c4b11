// Intermediate values of all recordings of one function, in one block of memory.
//
// Calls of a function follow each other, and no call reads the arena contents of another, so its
// signatures share the bytes: the largest decides. A signature that needs more moves the arena;
// recordings see that by its number and write its new address into their launches.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/buffer.h"

namespace tilewright {

class SharedArena {
 public:
  explicit SharedArena(DeviceMemory* memory) : memory_(memory) {}
  // At least this many bytes from now on.
  void reserve(std::int64_t bytes);
  std::byte* data() const { return buffer_ ? static_cast<std::byte*>(buffer_->data()) : nullptr; }
  std::int64_t bytes() const { return buffer_ ? buffer_->size_bytes() : 0; }
  int number() const { return number_; }  // of its place; another one after a move

 private:
  DeviceMemory* memory_;
  std::shared_ptr<Buffer> buffer_;
  int number_ = 0;
};

}  // namespace tilewright
