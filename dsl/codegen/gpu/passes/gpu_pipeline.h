// The passes that code generation for GPUs runs, as a table of the same kind as that of all targets
// (passes/pipeline.h), by the same driver: from a traced function to one that the emitter
// translates without further decisions. A function that comes with a later stage, from a text, goes
// on from there.
#pragma once

#include <span>
#include <vector>

#include "dsl/passes/pipeline.h"

namespace tilewright::dsl::gpu {

std::span<const Pass> gpu_passes();

// Runs them all, but for those that are skipped; `options.target` is a GPU, of whose bounds the
// function is (plan/program_bounds.h).
std::vector<PassTime> schedule(ir::Function& function, PipelineOptions options);

}  // namespace tilewright::dsl::gpu
