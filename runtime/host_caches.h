// How large the host's caches are.
#pragma once

#include <cstdint>

namespace tilewright {

// Of one core: the last cache that it shares with no other (an L2). 1 MiB where the system does not
// say. Any thread.
std::int64_t outer_cache_bytes();

}  // namespace tilewright
