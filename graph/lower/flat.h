// Pointwise regions over contiguous memory, as programs that take the number of elements as an
// argument.
//
// Most programs have sizes for constants, which is right for layers of one shape. The updates of an
// optimizer are one computation over tensors of many sizes: as a program of any size they are
// compiled once, and all of them can be one launch (graph/run/batches.h).
//
// A region is flat if it is one row, each value is either as wide as the row or one element, and
// memory of the row's width is contiguous. On the host a program goes through its block in pieces
// of a few vectors, whole ones first and then what is left, so that nothing outside the tensor is
// touched, not even behind a mask. On a GPU the block is one tile, masked where the tensor ends.
#pragma once

#include "graph/lower/lower.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

struct FlatRegion {
  std::int64_t elements = 0;
  // What the program's parameter counts: elements, or on GPUs groups of 16 of them where that
  // divides, so that accesses are wide.
  std::int64_t quantum = 1;
  std::int64_t count() const { return elements / quantum; }
  // Equal for regions that become one program.
  Hash key;
};

// Nothing where the region is not flat.
std::optional<FlatRegion> flat_region(const TaskList& list, const Region& region,
                                      const dsl::Target& target);
// Its one program takes `count()` after its pointers; programs have `block` elements, a multiple of
// 64.
LoweredRegion lower_flat(const TaskList& list, const Region& region, const FlatRegion& flat,
                         const dsl::Target& target, std::int64_t block);
// For so many elements in all launches of the program.
std::int64_t flat_block(const dsl::Target& target, std::int64_t elements);

}  // namespace tilewright::graph
