// The state of the loop nest that is being emitted: its domain, the position of its loops in it,
// and which of its reductions are in registers. It is separate from the emitter because it ends
// with the loop nest. emit_loop_nest.cpp emits the loops, emit_reductions.cpp the reductions in
// them, and emit_cascade.cpp loops whose sums stay exact.
#pragma once

#include <functional>

#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

// A loop whose iterations are grouped into blocks, and these into larger blocks, so that each sum
// has few terms.
struct Emitter::Cascade {
  std::int64_t step;                       // of an iteration's index
  std::function<void(llvm::Value*)> body;  // of one iteration
  // Emits a block of a level; emits its iterations by calling `iterations`.
  std::function<void(int level, const std::function<void()>& iterations)> block;
};

struct Emitter::LoopNest {
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
  // For sums across rows: the partial sums that are accumulated separately, the smallest parts
  // first.
  std::map<const ir::Inst*, std::vector<Slot>> parts;
  // The rows that are added up in the iteration being emitted, and along which axis.
  std::vector<llvm::Value*> rows;
  int row_axis = -1;
};

}  // namespace tilewright::dsl
