#include "runtime/host_caches.h"

#include <unistd.h>

namespace tilewright {

std::int64_t outer_cache_bytes() {
  static const std::int64_t bytes = [] {
    long said = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return said > 0 ? said : 1L << 20;
  }();
  return bytes;
}

}  // namespace tilewright
