// Every pass that takes a function of tile IR towards a host's code, one line each. They write
// their decisions into the function (ir/function.h); each says at its top what it needs and gives.
#pragma once

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::host {

bool form_loop_nests(ir::Function& function, const Target& target);  // which loops, in which order
bool tabulate(ir::Function& function, const Target& target);         // table look-ups
bool pack_products(ir::Function& function, const Target& target);    // how matrices are multiplied

}  // namespace tilewright::dsl::host
