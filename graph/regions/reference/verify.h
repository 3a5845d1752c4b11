// The rules that every task list and its regions obey, derived independently of the code that made
// them: fusion and lowering rely on these.
//
//   a list      ids exist; views and places lie within their storage; operands have the types that
//               the kind and the tile op want; a storage knows its writers and readers; a value
//               that is named as a producer's fills its storage, row-major, and nobody else writes
//               there; a result is written whole; a task comes after the writers of what it reads,
//               and after the readers and writers of what it overwrites, but for parts of one
//               whole, which are shown to touch other elements
//   a region    each table numbers its task's value, stored values once each; what a consumer's
//               table makes of its operand is the producer's table, asked at the edges of all
//               digits; memory is read and written at one stride a digit of the rows; what is
//               wanted outside is stored
//   regions     each task is in one, and they stand in an order in which they can run
//
// No element of constants and inputs is looked at, so that the time is that of making tasks.
#pragma once

#include <span>

#include "graph/regions/fuse.h"

namespace tilewright::graph {

// Raise `InternalError` naming the storage, the task or the region, and the fault in it.
void verify(const TaskList& list);
// The list must be verified already. A region without tables is a task that can have none, and its
// epilogue.
void verify(const TaskList& list, const Region& region);
void verify(const TaskList& list, std::span<const FusedRegion> regions);

}  // namespace tilewright::graph
