// Which values of a compiled function are kept for the gradients in it, and which are computed
// again, by the options.
//
// Values are chosen for each tenth of the bytes that gradients read, from all of them on
// (graph/saving/choose_saved.h). A choice counts only if the memory of its plan is less than that
// of all choices with more bytes, since values that are computed again in a long chain may take
// more memory than they free. So the memory of a call never grows when the share shrinks, and the
// choices do not depend on the share or the limit that is asked for.
#pragma once

#include <cstdint>

#include "graph/compile/reports/saving_report.h"
#include "graph/ir/ir.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

struct SavingLimits {
  double share = 1;         // Options::saved_share
  std::int64_t memory = 0;  // Options::memory_limit
};

// The graph, of primitive ops, becomes one that keeps to the limits in a plan with these options.
// Raises `Error` where none does.
SavingReport keep_to(Graph& graph, const PlanOptions& options, const SavingLimits& limits);

}  // namespace tilewright::graph
