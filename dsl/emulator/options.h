// The emulator's options, reports, and errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/base/error.h"

namespace tilewright::dsl::emulator {

// A kernel on the emulator violated a rule: a GPU would forbid it, leave it undefined, or never
// finish. The message names kernel, block, thread and, where the code has debug locations, the
// line.
class EmulationFault : public Error {
 public:
  using Error::Error;
};

// The memory that a kernel may touch through pointers to global memory. Thread safe.
class GlobalRanges {
 public:
  void register_range(const void* begin, std::int64_t bytes);
  void forget_range(const void* begin);
  bool contains(const void* begin, std::int64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::uintptr_t> ends_;  // by begin
};

// How well the accesses of one place in a kernel use the memory. A request is one instruction of
// one warp; a wavefront is what shared memory serves at once, a sector 32 bytes of global memory.
struct AccessCount {
  std::string place;  // "load_global_v4 kernel.cpp:12"
  std::int64_t requests = 0;
  std::int64_t wavefronts = 0;        // shared memory: as they were needed
  std::int64_t ideal_wavefronts = 0;  // as many as the bytes need
  std::int64_t sectors = 0;           // global memory: as they were touched
  std::int64_t ideal_sectors = 0;     // as many as the bytes need
};

// Filled while kernels run that were linked with it; by place. Thread safe to add to.
class AccessReport {
 public:
  void add(const AccessCount& count);
  std::map<std::string, AccessCount> counts() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, AccessCount> counts_;
};

struct EmulatorOptions {
  // Decides the order of threads and of asynchronous completions; the same seed, the same run.
  std::uint64_t seed = 1;
  // Checks every access of shared memory: bounds, alignment, uninitialised bytes, races. Without
  // it kernels run several times faster, and only the operations' own checks remain.
  bool check_shared = true;
  // Where given, accesses of global memory outside of it are faults.
  std::shared_ptr<GlobalRanges> ranges;
  // Accesses of global memory are compared with the launch's knowledge (known_memory.h).
  bool check_global = false;
  // Where given, accesses are counted into it, at some cost.
  std::shared_ptr<AccessReport> report;
};

}  // namespace tilewright::dsl::emulator
