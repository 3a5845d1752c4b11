// Grouping tasks into regions: greedily, the pair that saves most bytes first.
//
// Every task begins as a region of its own. A candidate is an edge (the producer's value need not
// be read back, and if it has no other reader, not be written) or two readers of one storage, in
// the same rows (it is read once). Candidates are taken by bytes saved; two regions are merged if
// the union is a region (region.h) and convex: no path leaves it and comes back, which would make
// it wait for itself. Ties go to the earlier task, so the result is deterministic. Repeated parts
// (repeats.h) are not merged over their seams, and nothing over the borders of a marked region
// (graph/compile/region.h). Among repetitions and marked regions with equal tasks, the first is
// fused, and the others like it.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/regions/region.h"

namespace tilewright::graph {

struct FusedRegion {
  Region region;
  std::int64_t bytes_saved = 0;
  bool is_again = false;  // it computes values again, and is to run late
};

// A task list and its fused regions.
struct FusedTasks {
  TaskList list;
  std::vector<FusedRegion> regions;
};

// In an order in which they can run. `fuse` false: one region a task. `marks` says of each task
// where it was written; empty: nothing is marked. `purposes` says what each task is for;
// empty: there are no derivatives. A value that is computed again is not made where the function
// makes it: its task joins none of the function's.
std::vector<FusedRegion> fuse_tasks(const TaskList& list, bool fuse,
                                    const RegionLimits& limits = {},
                                    std::span<const MarkId> marks = {},
                                    std::span<const Purpose> purposes = {});

}  // namespace tilewright::graph
