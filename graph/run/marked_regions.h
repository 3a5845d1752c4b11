// The statistics of a function's marked regions (graph/compile/region.h): how often each is called,
// and how many different structures that makes. Calls of one structure are computed by the same
// programs, which are compiled once.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/regions/fuse.h"
#include "graph/run/plan.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

// The mark of a fused region, whose tasks are all of one.
MarkId mark_of(const Graph& graph, const TaskList& list, const FusedRegion& region);

// A row a name, in the order in which they are first called. `keys`: of each region's program.
std::vector<MarkedRegion> marked_regions(const Graph& graph, const TaskList& list,
                                         std::span<const FusedRegion> regions,
                                         std::span<const Hash> keys);

}  // namespace tilewright::graph
