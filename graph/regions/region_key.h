// What a region's program depends on, as a key: regions of equal keys give equal programs, so that
// all but the first of a network's layers need not even be lowered.
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
Hash region_key(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
