#include "graph/compile/segments/segment_plan.h"

#include <utility>

#include "graph/compile/bindings/plan_results.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

SegmentPlan::SegmentPlan(const Graph& segment, const std::vector<Tensor>& inputs,
                         std::vector<bool> weights, const ResolvedOptions& options,
                         SharedArenas& arenas)
    : signature_(signature_of(inputs, options.plan.device)),
      plan_(checked_graph(segment, options.index_checks, inputs, options.plan.device.target(),
                          options.plan.sizes_vary),
            {signature_, {}, inputs, {}, std::move(weights)}, options),
      arenas_(arenas) {
  const Plan& plan = plan_.plan();
  if (!options.records_launches && !LastingRecordings::are_small(*plan.executable())) return;
  if (!plan.executable()->may_be_recorded()) {
    if (options.records_launches) note_unrecorded(plan);
    return;
  }
  recordings_.emplace(plan.executable(), arenas_.in(plan.device().memory()));
}

void SegmentPlan::run(const std::vector<Tensor>& inputs, bool is_measured,
                      std::vector<std::shared_ptr<Buffer>>& results) {
  if (plan_.is_searched_for())
    plan_.take_found([this](const Plan& found) {
      if (recordings_) recordings_.emplace(found.executable(), arenas_.in(found.device().memory()));
      return std::string();
    });
  plan_.checks().before([&](std::size_t i) -> const Tensor& { return inputs[i]; });
  plan_.require_not_shared(inputs);
  const Plan& plan = plan_.plan();
  {
    StepAccess access;
    for (const Tensor& tensor : inputs) access.add(tensor.body()->token);
    access.begin("compile", std::nullopt);
    plan_.set_inputs(inputs);
    LaunchTimes* times = plan_.times_of_run(1, is_measured);
    if (recordings_ && !(times && plan.device().is_cuda()))
      recordings_->run(plan_.addresses(), results, times);
    else
      results = plan.run(plan_.addresses(), times);
    plan_.take_back_written(inputs);
  }
  if (!plan_.checks().adds_outputs()) [[likely]]
    return;
  std::vector<Tensor> checked = PlanResults().tensors(plan, results, plan_.inputs(), inputs, {});
  plan_.checks().after(checked);
}

PlanReport SegmentPlan::report() const {
  PlanReport report;
  report.signature = to_string(signature_);
  plan_.fill(report);
  report.memory = plan_.memory({});
  return report;
}

std::string SegmentPlan::dump() const {
  return concat("# signature: ", to_string(signature_), "\n", plan_.dump());
}

}  // namespace tilewright::graph
