// The effects of an instruction besides giving results, its bodies included, for passes that move
// or drop it.
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// True if it, or something in its bodies, writes memory.
bool writes_memory(const ir::Inst& inst);
// True if it is wanted for its own sake: it writes, or it is a hint or PTX that is not pure, or its
// bodies hold such.
bool acts(const ir::Inst& inst);
// True if it is PTX that acts, or gives something else from time to time: it is left alone.
bool is_impure_assembly(const ir::Inst& inst);

}  // namespace tilewright::dsl
