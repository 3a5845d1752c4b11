// The tasks and regions of a plan, before any of them is lowered: this file makes all decisions
// about them, for making plans and for printing them.
#pragma once

#include "graph/regions/fuse.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

// Takes from the options whether to fuse, the precision of products, the device and the memory of
// inputs. Builds for debugging verify both (regions/reference/verify.h), and so do the tests of
// either.
FusedTasks fused_tasks(const Graph& graph, const PlanOptions& options);

}  // namespace tilewright::graph
