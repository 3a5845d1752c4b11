// What tensor copies and reports of deadlocks need of the barriers in shared memory.
#pragma once

#include <cstdint>
#include <string>

#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {

// The barrier that a load will report to: initialised, and known to the engine.
MemoryBarrier& barrier_of_load(const Call& call, const std::byte* address);
// A load is finished.
void bytes_came(ThreadBlock& block, std::int64_t barrier_offset, std::int64_t bytes);
// The barriers that somebody waits for, and what they lack.
std::string describe_barriers(const AsyncEngine& engine);

}  // namespace tilewright::dsl::emulator
