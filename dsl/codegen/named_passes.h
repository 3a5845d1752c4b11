// Passes by name, whichever table of passes/passes.def they are of: for golden tests and for
// `tilewright opt`, which see all of them, where a back end runs its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/passes/pipeline.h"

namespace tilewright::dsl {

// Named passes of all tables, in the given order. Raises `Error` for an unknown name, and
// `OutOfMemory` where a GPU's pass is among them and the function is beyond the bounds of GPUs.
std::vector<PassTime> run_named_passes(ir::Function& function, std::span<const std::string> names,
                                       const Target& target);

}  // namespace tilewright::dsl
