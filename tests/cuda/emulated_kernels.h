// Which tile program an entry of a PTX text stands for, and its kernel for the emulator.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dsl/codegen/gpu/gpu_code.h"

namespace tilewright::cuda::fake {

// The tile program of this process that became this entry for GPUs of compute capability `sm`, as
// text.
std::optional<std::string> program_of(const std::string& entry, int sm);
// The kernel of a program; made once a process. Its global memory is that of the fake drivers.
std::shared_ptr<const dsl::gpu::EmulatedPtx> emulated_kernel(const std::string& entry,
                                                             const dsl::Target& target,
                                                             const std::string& program);

}  // namespace tilewright::cuda::fake
