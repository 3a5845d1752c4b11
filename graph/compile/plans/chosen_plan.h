// The plan that a graph runs by, with what decided on it: the defaults, tuning before the first
// call, or a search that goes on while the plan is in use.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "graph/compile/plans/background_plan.h"
#include "graph/compile/plans/step_trial.h"
#include "graph/ir/ir.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

class ChosenPlan {
 public:
  // Makes the plan, and begins to search for a better one where that is wanted. `inputs` gives what
  // whole calls are timed with.
  ChosenPlan(const Graph& graph, PlanOptions options, bool searches_in_background,
             const std::function<StepInputs()>& inputs);
  ~ChosenPlan();  // ends the search, even if another owner still waits for it
  ChosenPlan(const ChosenPlan&) = delete;
  ChosenPlan& operator=(const ChosenPlan&) = delete;

  const Plan& plan() const { return *plan_; }
  bool is_searched_for() const { return tuning_ != nullptr; }
  // One that the search has found; given once, null otherwise.
  std::shared_ptr<const Plan> found() { return tuning_->take(); }
  // It is the plan from now on; `consequence` ("; launches were ..") is what came of that.
  void take(std::shared_ptr<const Plan> found, std::string consequence);
  void refuse(const std::string& why);  // what was found last is not used

  // Under way or over; null: nothing is tuned while the function is in use.
  std::shared_ptr<const BackgroundPlan> tuning() const { return tuning_; }
  std::string tuning_text() const;  // what came of tuning; empty: there was none

 private:
  std::shared_ptr<const Plan> plan_;
  std::string whole_call_;  // what came of timing whole calls (tuned_plan.h)
  std::shared_ptr<BackgroundPlan> tuning_;
  std::string consequence_;
};

}  // namespace tilewright::graph
