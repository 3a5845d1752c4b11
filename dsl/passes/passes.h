// Every pass over tile IR, one line each. Each returns whether it changed the function;
// those take the target that do what depends on it.
#pragma once

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl {

bool drop_asserts(ir::Function& function);  // that no setting asks to check
bool simplify(ir::Function& function);      // folds constants and algebraic identities
bool expand_math(ir::Function& function, const Target& target);     // exp, log, ... into arithmetic
bool widen_reductions(ir::Function& function);                      // sums of f16 and bf16 in f32
bool split_products(ir::Function& function, const Target& target);  // tf32x3 into three of tf32
bool common_subexpressions(ir::Function& function);  // one instruction for equal pure ones
bool hoist_invariants(ir::Function& function);       // moves pure code out of loops
bool dead_code(ir::Function& function);              // drops what nothing needs

}  // namespace tilewright::dsl
