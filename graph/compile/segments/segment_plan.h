// The plan of a segment, all of whose inputs are arguments of its runs. Its results lie where it
// runs, and later runs overwrite none that somebody holds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/compile/bindings/lasting_recordings.h"
#include "graph/compile/bindings/shared_arenas.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/plans/bound_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class SegmentPlan {
 public:
  // `inputs` are those of the graph, as its first run has them, some of which may be weights.
  SegmentPlan(const Graph& segment, const std::vector<Tensor>& inputs, std::vector<bool> weights,
              const ResolvedOptions& options, SharedArenas& arenas);
  // `results` become the memory of the results, each row-major; null where it is that of the input
  // that the plan's output names.
  void run(const std::vector<Tensor>& inputs, bool is_measured,
           std::vector<std::shared_ptr<Buffer>>& results);
  const std::vector<PlanOutput>& outputs() const { return plan_.plan().outputs(); }

  PlanReport report() const;
  std::string dump() const;
  std::shared_ptr<const BackgroundPlan> tuning() const { return plan_.tuning(); }
  void forget(const Buffer& weight) { plan_.forget(weight); }

 private:
  Signature signature_;  // of the inputs
  BoundPlan plan_;
  SharedArenas& arenas_;
  std::optional<LastingRecordings> recordings_;  // none: each run launches the plan
};

}  // namespace tilewright::graph
