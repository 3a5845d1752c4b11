// What is known of the sweep being emitted: its domain, where in it the loops are, and which of its
// reductions lie in registers. Apart from the emitter's state because it ends with the sweep;
// emit_sweep.cpp makes the loops, emit_reductions.cpp what they reduce, and emit_cascade.cpp loops
// whose sums stay exact.
#pragma once

#include <functional>

#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

// A loop whose turns stand in blocks, and these in blocks, so that what each adds up stays short.
struct Emitter::Cascade {
  std::int64_t step;                       // of a turn's index
  std::function<void(llvm::Value*)> body;  // of one turn
  // Emits the turns of a block of a level by calling what it is given.
  std::function<void(int level, const std::function<void()>& turns)> block;
};

struct Emitter::Sweep {
  const Shape& domain;
  const std::vector<Root>& roots;
  int lane;  // the axis the lanes run along
  Position position;
  // Reductions along the lane axis: which accumulators belong to which root.
  struct InRegisters {
    const ir::Inst* inst;
    std::size_t first;  // accumulator, and for argmax the one after it holds the indices
  };
  std::vector<InRegisters> in_registers;
  std::vector<const Root*> in_scratch;  // reductions along other axes
  std::size_t per_copy = 0;             // accumulators of one copy of the body
  // For sums across rows: the partial sums that are kept apart, the smallest parts first.
  std::map<const ir::Inst*, std::vector<Slot>> parts;
  // The rows that are added up in the turn being emitted, and along which axis.
  std::vector<llvm::Value*> rows;
  int row_axis = -1;
};

}  // namespace tilewright::dsl
