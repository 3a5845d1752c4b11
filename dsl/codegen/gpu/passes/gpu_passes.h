// Every pass that takes a function of tile IR towards a GPU's code, one line each. They write their
// decisions into the function (ir/function.h); each says at its top what it needs and gives.
#pragma once

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

bool specialise_warps(ir::Function& function, const Target& target);    // which warps fetch
bool assign_layouts(ir::Function& function, const Target& target);      // where elements lie
bool pipeline_loads(ir::Function& function, const Target& target);      // loads ahead of loops
bool insert_conversions(ir::Function& function, const Target& target);  // operands to their users
bool allocate_shared(ir::Function& function, const Target& target);     // places in shared memory
bool insert_barriers(ir::Function& function, const Target& target);     // where all threads meet

}  // namespace tilewright::dsl::gpu
