#include "runtime/host_caches.h"

#include <unistd.h>

#include <algorithm>

namespace tilewright {

std::int64_t outer_cache_bytes() {
  static const std::int64_t bytes = [] {
    long said = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return said > 0 ? said : 1L << 20;
  }();
  return bytes;
}

std::int64_t shared_cache_bytes() {
  static const std::int64_t bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L);
  return bytes;
}

}  // namespace tilewright
