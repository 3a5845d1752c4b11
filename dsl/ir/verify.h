// The rules that every function obeys at its stage: arity, types, dominance, yields.
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::ir {

// Stages of one function's life; each adds facts and rules (ARCHITECTURE in docs/design.md).
enum class Stage : std::uint8_t { traced, laid_out, allocated };

// Raises `Error` naming the op, its source line and what is wrong.
void verify(const Function& function, Stage stage = Stage::traced);

}  // namespace tilewright::ir
