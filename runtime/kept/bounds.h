// The bounds of the caches of a process: plans of eager operations, compiled kernels, modules of
// GPUs. A setting of its own because all tables that keep such things (bounded_table.h) obey the
// same one.
#pragma once

#include <cstdint>

namespace tilewright {

struct Bounds {
  std::int64_t count = 0;  // of entries
  std::int64_t bytes = 0;  // of their code
};

// The bounds of each table: TILEWRIGHT_KEPT_PLANS and TILEWRIGHT_KEPT_CODE_MIB, read at each call.
// Raises `Error` where one of them is not positive.
Bounds bounds_of_tables();

}  // namespace tilewright
