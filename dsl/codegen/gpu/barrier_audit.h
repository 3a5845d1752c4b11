// Whether a kernel has barriers that it does not need, and whether its proof (barrier_proof.h) sees
// each of the others: every barrier, wait, fence and hand-over is taken away in turn, and what is
// left is proved again. If the proof still holds, nothing needs it.
#pragma once

#include <llvm/IR/Function.h>

#include <optional>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/gpu/plan/warp_specialisation.h"

namespace tilewright::dsl::gpu {

// Leaves the kernel as it was.
BarrierAudit audit_barriers(llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles);

}  // namespace tilewright::dsl::gpu
