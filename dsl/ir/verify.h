// The rules that every function obeys at its stage.
//
//   traced      arity, types, dominance, yields; schedules stand where they mean something
//   scheduled   roots that share a loop nest go through one shape, and need of each other only what
//               is at their own position; what is read from an array that is written is kept
//               (loop_nests.h). Only hosts have this stage, and no later one
//   laid_out    each tile has a layout, of its physical shape, over 32 lanes of the function's
//               warps; what a loop carries has one layout in all turns
//   converted   operands lie where their instruction works on them: elementwise ones where the
//               result is, those of a shape operation where nothing has to move, what a loop or an
//               if yields where its result is. Operands of products may lie anywhere, since they
//               go to the tensor cores by shared memory, and so may what is reshaped in a way that
//               no renaming of registers is
//   allocated   what is in shared memory at one time lies apart: the ring of a loop from all that
//               is exchanged in its turns, and both from what is reserved
//   synchronised   between two accesses of one array, of which one writes, and between what threads
//               read of shared memory and what is written there next, all threads have met
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::ir {

// Raises `Error` naming the op, its source line and the fault: with the rules of the function's
// stage.
void verify(const Function& function);

}  // namespace tilewright::ir
