#include "graph/compile/plans/chosen_plan.h"

#include <utility>

#include "autotune/policy.h"
#include "graph/compile/plans/tuned_plan.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

ChosenPlan::ChosenPlan(const Graph& graph, PlanOptions options, bool searches_in_background,
                       const std::function<StepInputs()>& inputs) {
  if (options.tune) {
    TunedPlan tuned = make_tuned_plan(graph, options, inputs());
    plan_ = std::move(tuned.plan);
    whole_call_ = std::move(tuned.whole_call);
  } else {
    plan_ = make_plan(graph, options);
  }
  if (searches_in_background && plan_->tuning().left > 0 &&
      autotune::tune_policy() == autotune::TunePolicy::on) {
    options.tune->searches = true;
    tuning_ = std::make_shared<BackgroundPlan>(graph, std::move(options), plan_, inputs());
  }
}

ChosenPlan::~ChosenPlan() {
  if (tuning_) tuning_->stop();
}

void ChosenPlan::take(std::shared_ptr<const Plan> found, std::string consequence) {
  plan_ = std::move(found);
  consequence_ = std::move(consequence);
}

void ChosenPlan::refuse(const std::string& why) { consequence_ = "; they are not used: " + why; }

// Empty where there was none.
static std::string text_of(const TuningReport& report, const std::string& whole_call) {
  std::string text;
  auto add = [&](int count, const char* what) {
    if (count > 0)
      text += concat(text.empty() ? "tuning: " : ", ", count, count == 1 ? " region " : " regions ",
                     what);
  };
  add(report.known, "known");
  add(report.searched, "searched");
  add(report.small, "too small");
  add(report.left, "left as they are");
  add(report.fixed, "with nothing to choose");
  return whole_call.empty() ? text : concat(text, "; ", whole_call);
}

std::string ChosenPlan::tuning_text() const {
  return tuning_ ? tuning_->text() + consequence_ : text_of(plan_->tuning(), whole_call_);
}

}  // namespace tilewright::graph
