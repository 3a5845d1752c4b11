// On which device something was measured, as the part of a tuning key: what times depend on, and
// nothing that differs between two machines of one kind.
#pragma once

#include "autotune/database/row/record.h"
#include "dsl/target/target.h"

namespace tilewright::autotune {

// The host with the given number of threads: its model, the instructions that code for `target`
// uses, threads, processors, bytes of its caches as far as the system tells.
Record host_record(const dsl::Target& target, int threads);

// A GPU: its name and multiprocessors as the driver reports them, and the target of its code.
Record gpu_record(const dsl::Target& target, std::string_view name, int multiprocessors,
                  std::int64_t memory_bytes);

}  // namespace tilewright::autotune
