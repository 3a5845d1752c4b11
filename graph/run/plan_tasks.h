// The tasks and regions of a plan, before any of them is lowered: this file makes all decisions
// about them, for making plans and for printing them.
#pragma once

#include "graph/regions/fuse.h"
#include "graph/run/plan.h"
#include "graph/sizes/numbers.h"

namespace tilewright::graph {

// Takes from the options whether to fuse, the precision of products, the device and the memory of
// inputs. Builds for debugging verify both (regions/reference/verify.h), and so do the tests of
// either.
FusedTasks fused_tasks(const Graph& graph, const PlanOptions& options);

// The same as they are lowered: with packed weights and families of sizes.
FusedTasks planned_tasks(const Graph& graph, const PlanOptions& options);
// Where plans for other sizes are made too, they may be interpolated from these
// (graph/sizes/interpolated.h), which sets `is_interpolated`.
FusedTasks planned_tasks(const Graph& graph, const PlanOptions& options, bool& is_interpolated);
// Adds the options that decide tasks and regions to the form.
void add_form(NumberReader& given, const PlanOptions& options);

}  // namespace tilewright::graph
