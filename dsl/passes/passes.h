// Every pass over tile IR, one line each. Each returns whether it changed the function.
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::dsl {

bool simplify(ir::Function& function);          // folds constants and algebraic identities
bool expand_math(ir::Function& function);       // exp, log, ... into arithmetic (f32, f16, bf16)
bool expand_math_avx512(ir::Function& function);  // the same, over AVX-512's own ldexp
bool expand_math_gpu(ir::Function& function);   // the same, over a GPU's own exp2 and rsqrt
bool widen_reductions(ir::Function& function);  // sums of f16 and bf16 in f32
bool common_subexpressions(ir::Function& function);  // one instruction for equal pure ones
bool hoist_invariants(ir::Function& function);       // moves pure code out of loops
bool dead_code(ir::Function& function);              // drops what nothing needs

}  // namespace tilewright::dsl
