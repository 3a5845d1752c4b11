// The body of a parallel loop, as the pool of threads and a host program that replaces it call it.
#pragma once

#include <cstdint>

namespace tilewright {

// Handles [begin, end) on behalf of worker `worker`, 0 <= worker < thread_count(). Two calls of one
// loop with the same worker index never overlap in time.
using RangeBody = void (*)(void* context, std::int64_t begin, std::int64_t end, int worker);

}  // namespace tilewright
