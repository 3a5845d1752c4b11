// The loop nests by which a host core goes through tiles, as a function at Stage::scheduled has
// them (codegen/host/plan/schedule.h).
//
// A tile is not an array there. Most values are *virtual*: computed a vector at a time where they
// are needed. Some instructions are *roots*, which go through all elements of a tile: stores,
// reductions, prefetches, and values that are marked as kept. Each root has a loop nest, or is
// joined to that of the root before it; order is that of instructions. So the loops can be read off
// the text:
//
//   %8 = exp %7 : f32[1x128] schedule (kept)            a loop nest: exp, and its operands
//   %9 = reduce %8, sum 1 : f32[1] schedule (joined)    in it too
//   store_desc %3, %12, %0, %0                          another one
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::ir {

// True if a value of this instruction is computed where it is needed, unless it is kept.
bool may_be_virtual(const Inst& inst);

// True if the instruction goes through a tile by itself, without being kept.
bool goes_through_tile(const Function& function, const Inst& inst);
// Or since it is kept.
bool is_root(const Function& function, const Inst& inst);
// The shape that a root goes through.
Shape domain_of(const Function& function, const Inst& root);

// Raises `Error` naming the op and the fault in the marks of loop nests. Roots of one loop nest go
// through one shape, and none needs more of another's values than the element at its own position;
// they do not write memory that another one there writes or reads. A load from an array that the
// program writes is kept, so that the read happens where it stands. A function of another stage has
// no marks.
void verify_loop_nests(const Function& function);

}  // namespace tilewright::ir
