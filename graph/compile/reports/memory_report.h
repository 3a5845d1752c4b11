// The memory of a compiled function's calls, which follows from its plan: it is known before the
// first call.
#pragma once

#include <cstdint>

namespace tilewright {

// In bytes.
struct MemoryReport {
  std::int64_t arguments = 0;     // elements of the tensors that are passed
  std::int64_t captured = 0;      // of those that the function uses besides: parameters, states
  std::int64_t results = 0;       // buffers that a call returns
  std::int64_t intermediate = 0;  // the arena, in which values of limited lifetime share bytes
  std::int64_t loops = 0;         // that the step of control flow with the most takes while it runs
  std::int64_t copies = 0;  // of results that must not share memory, made when the arena is gone
  std::int64_t constants = 0, packed = 0;  // that the plan keeps between calls
  // The most that a call has allocated at once, arguments and captured tensors not counted. On the
  // host it counts whole blocks of the pool (runtime/buffer.h). C++ of custom ops is not in it.
  std::int64_t peak = 0;
};

}  // namespace tilewright
