// How large the host's caches are.
#pragma once

#include <cstdint>

namespace tilewright {

// The size of the last cache that a core shares with no other core (an L2). 1 MiB where the system
// does not say. Any thread.
std::int64_t outer_cache_bytes();
// The size of the cache that cores share (an L3); 0 where the system does not say. Any thread.
std::int64_t shared_cache_bytes();

}  // namespace tilewright
