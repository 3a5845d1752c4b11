// The passes that code generation for hosts runs, as a table of the same kind as that of all
// targets (passes/pipeline.h), by the same driver: from a traced function to one that the emitter
// translates without further decisions. A function that comes with a later stage, from a text, goes
// on from there.
#pragma once

#include <span>
#include <vector>

#include "dsl/passes/pipeline.h"

namespace tilewright::dsl::host {

std::span<const Pass> host_passes();

// Runs them all, but for those that are skipped; `options.target` is a host.
std::vector<PassTime> schedule(ir::Function& function, PipelineOptions options);

}  // namespace tilewright::dsl::host
