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
// made too (Region::sizes_vary), the number of rows is an argument instead, and so are numbers that
// follow from it. Outputs that are written in place have the same parameter as the input they
// replace; otherwise memory of different parameters does not overlap.
#pragma once

#include "dsl/target/target.h"
#include "graph/lower/lowering.h"
#include "graph/regions/fuse.h"

namespace tilewright::graph {

// By the first lowering of the table that takes the region (lowering.h).
LoweredRegion lower(const TaskList& list, const Region& region, const dsl::Target& target,
                    const BlockSizes& blocks = {});
// Bytes that one launch reads and writes in memory, each element of an access counted once.
std::int64_t bytes_moved(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
