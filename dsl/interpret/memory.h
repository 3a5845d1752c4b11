// The memory that an interpreted program is given.
#pragma once

#include <cstdint>

namespace tilewright::ir {

// Memory a kernel may touch through one pointer parameter; accesses outside raise `Error` with the
// line, the program, the parameter and the index. `bytes` may be 0 for "unknown, do not check".
struct Memory {
  const void* data;
  std::int64_t size_bytes;
};

}  // namespace tilewright::ir
