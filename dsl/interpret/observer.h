// Watches a program while it is interpreted: is called for each instruction that was run, and for
// each element of memory before it is touched. Apart from the interpreter, which knows nothing of
// the errors to look for (dsl/debugger).
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "dsl/interpret/tile_data.h"
#include "dsl/ir/function.h"

namespace tilewright::ir {

using ProgramIndex = std::array<std::int64_t, 3>;  // along the axes of the grid

// An instruction that has been run; a loop or an if comes after its bodies, whose instructions were
// reported before.
struct Executed {
  const Inst& inst;
  const ProgramIndex& program;
  const std::vector<TileDataPtr>& values;  // of the program, by Value; null: not made yet
};

// One element that a load, store or atomic goes to.
struct Touched {
  const Inst& inst;
  const ProgramIndex& program;
  int param;  // that the address comes from, or -1: one of several
  std::int64_t address, size_bytes;
  std::size_t element;      // of the instruction's tile
  const TileData* written;  // the value that a store or atomic writes; null: of a load
};

// Both may be empty, and may raise `Error`, which ends the run. They are called on one thread at a
// time, which need not be the same for all programs of a cluster.
struct Observer {
  std::function<void(const Executed&)> executed;
  std::function<void(const Touched&)> touched;
};

}  // namespace tilewright::ir
