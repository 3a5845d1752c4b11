// What an instruction does besides giving results, its bodies included: what passes ask before they
// move or drop it.
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// Whether it, or something in its bodies, writes memory.
bool writes_memory(const ir::Inst& inst);
// Whether it is wanted for its own sake: it writes, or it is a hint or PTX that is not pure, or its
// bodies hold such.
bool acts(const ir::Inst& inst);
// Whether it is PTX that acts, or gives something else from time to time: it is left be.
bool is_impure_assembly(const ir::Inst& inst);

}  // namespace tilewright::dsl
