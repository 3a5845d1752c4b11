#include "graph/compile/plans/background_plan.h"

#include <utility>

#include "graph/compile/plans/tuned_plan.h"
#include "runtime/base/error.h"
#include "runtime/base/text/number_text.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

// Programs that another plan of the same graph does not have.
std::size_t count_new(const Plan& plan, const Plan& before) {
  std::size_t count = 0;
  for (const PlanProgram& program : plan.programs()) {
    bool is_known = false;
    for (const PlanProgram& old : before.programs()) is_known = is_known || old.key == program.key;
    count += is_known ? 0 : 1;
  }
  return count;
}

std::string outcome(const TunedPlan& tuned, std::size_t changed) {
  const Plan& plan = *tuned.plan;
  std::string text = concat("tuned in the background for ", fixed_text(plan.tuning().seconds, 1),
                            " s: ", plan.tuning().searched, " regions searched, ");
  if (!tuned.whole_call.empty()) text += tuned.whole_call + "; ";
  if (changed == 0) return text + "nothing is faster than the plan in use";
  return text + concat(changed, " of ", plan.programs().size(), " programs are other ones now");
}

}  // namespace

BackgroundPlan::BackgroundPlan(Graph graph, PlanOptions options,
                               std::shared_ptr<const Plan> present, StepInputs inputs)
    : job_([made = made_, graph = std::move(graph), options = std::move(options),
            present = std::move(present), inputs = std::move(inputs),
            threads = ThreadLimit::of_thread()](const std::stop_token& stop) mutable {
        ThreadLimit limit(threads);
        options.tune->stop = stop;
        TunedPlan tuned = make_tuned_plan(graph, options, std::move(inputs));
        std::size_t changed = count_new(*tuned.plan, *present);
        std::lock_guard lock(made->mutex);
        made->text = outcome(tuned, changed);
        if (changed == 0) return;
        made->plan = std::move(tuned.plan);
        made->is_ready = true;
      }) {}

std::shared_ptr<const Plan> BackgroundPlan::take() {
  if (!made_->is_ready.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  std::lock_guard lock(made_->mutex);
  made_->is_ready = false;
  return std::exchange(made_->plan, nullptr);
}

std::string BackgroundPlan::text() const {
  if (!job_.wait(0)) return "being tuned in the background; until then the default's plan runs";
  if (std::string failure = job_.failure(); !failure.empty())
    return "tuning in the background failed, the plan stays: " + failure;
  std::lock_guard lock(made_->mutex);
  return made_->text + (made_->plan ? "; the next call takes them" : "");
}

}  // namespace tilewright::graph
