// An error of a kind of its own, since who tries things goes on with something smaller.
#pragma once

#include "runtime/base/error.h"

namespace tilewright {

// More memory, or more shared memory or registers of a block, than there are. Nothing was changed;
// with less in use, or with smaller blocks, it may succeed.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// Raises it with the joined message unless `condition` holds.
template <typename... Parts>
void require_memory(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw OutOfMemory(concat(parts...));
}

}  // namespace tilewright
