// The key of a region's program: regions of equal keys give equal programs, so that all but the
// first of a network's layers need not even be lowered. Keys outlive the list that they are made
// from, in tuning databases and in plans' files, so they also hold what all regions of one list
// have in common: the precision of products of f32.
//
// Storages count only by the order in which the region first uses them, which is the order of the
// program's parameters.
#pragma once

#include <vector>

#include "graph/regions/fuse.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

// The memory that a region's program reads and writes, in the order of its parameters.
std::vector<StorageId> storages_of(const TaskList& list, const Region& region);
// The precision of the region's products; ieee where it has none whose operands are f32.
ir::InputPrecision precision_of(const TaskList& list, const Region& region);
Hash region_key(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
