// Pointwise regions over contiguous memory, as programs that take the number of elements as an
// argument.
//
// Most programs have sizes for constants, which is right for layers of one shape. The updates of an
// optimizer are one computation over tensors of many sizes: as a program of any size they are
// compiled once, and all of them can be one launch (graph/run/batches.h).
//
// A region is flat if it is one row, each value is either as wide as the row or one element, and
// memory of the row's width is contiguous. On the host a program goes through its block in chunks
// of a few vectors, whole ones first and then the rest, so that nothing outside the tensor is
// touched, not even behind a mask. On a GPU the block is one tile, masked where the tensor ends.
#pragma once

#include <vector>

#include "dsl/target/target.h"
#include "graph/regions/fuse.h"

namespace tilewright::graph {

// Marks the regions of a plan that share such a program (Region::family_elements): where several
// sizes of one computation occur, and where a region writes in place, of which blocks cannot be
// moved back to end with the tensor.
void find_families(const TaskList& list, std::vector<FusedRegion>& regions,
                   const dsl::Target& target);

}  // namespace tilewright::graph
