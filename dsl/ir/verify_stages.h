// The verifier's rules about layouts (verify.h, Stage::laid_out and after). They are apart from
// those of types since they know the algebra of layouts, and a traced function has none.
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::ir {

// Types must be right already.
void verify_layouts(const Function& function);

// The layout of a shape operation's operand from which its result is in registers as it should be
// without moving anything; nothing if there is none.
std::optional<dsl::layout::Layout> shape_source(const Function& function, const Inst& inst,
                                                const dsl::layout::Layout& result);

}  // namespace tilewright::ir
