// The interface of barriers in shared memory for tensor copies and reports of deadlocks.
#pragma once

#include <cstdint>

#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {

// The barrier that a load into a block will report to must be initialised and known to the engine.
void check_barrier_of_load(const Call& call, ThreadBlock& block, const std::byte* address);
// A load into a block is finished.
void bytes_came(ThreadBlock& block, std::int64_t barrier_offset, std::int64_t bytes);

}  // namespace tilewright::dsl::emulator
