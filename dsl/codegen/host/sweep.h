// What is known of the sweep being emitted: its domain, where in it the loops are, and which of its
// reductions lie in registers. Apart from the emitter's state because it ends with the sweep;
// emit_sweep.cpp makes the loops, emit_reductions.cpp what they reduce.
#pragma once

#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

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
};

}  // namespace tilewright::dsl
