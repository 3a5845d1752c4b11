// A program that already uses the GPU, as host of this library: its streams, and its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "dsl/launch/device.h"
#include "runtime/owned.h"

namespace tilewright {

// Sends the calling thread's work on one GPU to a stream of the program's (a CUstream or
// cudaStream_t of that GPU's primary context) for the life of the object; the stream must live
// longer. Work goes there in order, unfinished when calls return. Guards close in the opposite
// order. A tensor that is used on another stream than it was made on must be kept until that stream
// is done.
class StreamGuard {
 public:
  StreamGuard(const Device& device, void* stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  struct Scope;
  Owned<Scope> scope_;
};

// The stream that the calling thread's work on `device` goes to.
void* current_stream(const Device& device);

// Takes memory of a GPU from the program from now on, in segments of 2 MiB and more. `allocate`
// gives null where there is too little, `free` may be called while work that used the memory is
// unfinished and must wait for it. Raises `Error` if this library has memory of that GPU already.
struct GpuAllocator {
  std::function<void*(std::int64_t bytes)> allocate;
  std::function<void(void* segment)> free;
};
void set_gpu_allocator(const Device& device, GpuAllocator allocator);

}  // namespace tilewright
