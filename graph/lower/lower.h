// From a region to tile programs and their launches.
//
// Most regions become one program. Where its grid would leave most of a GPU idle, the inner axis
// (the keys of attention, K of a product) is cut among more programs: the first program leaves
// partial results in scratch memory, and a second one combines them, always in the same order.
// Where a product's last tiles alone would leave most of a GPU idle, this is done to them alone,
// and the region is three programs (stream_k.h).
//
// Sizes and strides become constants of a program and pointers its only parameters, so that
// equal regions give equal programs, whatever memory they work on. Where plans for other sizes are
// made too (Region::sizes_vary), the number of rows is an argument instead, and what follows from
// it. Outputs that are written in place have the same parameter as the input they replace;
// otherwise memory of different parameters does not overlap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/target/target.h"
#include "graph/lower/blocks/block_request.h"
#include "graph/regions/fuse.h"
#include "runtime/artifact.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

// Memory that the programs of one region hand on to each other.
struct Scratch {
  DType dtype = DType::f32;
  std::int64_t elements = 0;
};

struct LoweredProgram {
  ir::Function function;
  Grid grid;
  // Which memory each parameter is: an index into the region's storages (storages_of), with its
  // scratch behind them.
  std::vector<std::uint32_t> memory;
  std::vector<std::int64_t> sizes = {};  // arguments behind these pointers
  // Set where the program is C++ and not `function`, which then says only what it is called and
  // takes.
  HostCall call = {};
};

struct LoweredRegion {
  std::vector<LoweredProgram> programs;  // in the order in which they run
  std::vector<Scratch> scratch;
  std::string kind;   // the lowering's name, or what it made more exactly: "stream-K product"
  BlockSizes blocks;  // that were used
};

// By the first lowering of the table that takes the region (lowering.h).
LoweredRegion lower(const TaskList& list, const Region& region, const dsl::Target& target,
                    const BlockSizes& blocks = {});
// Bytes that one launch reads and writes in memory, each element of an access counted once.
std::int64_t bytes_moved(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
