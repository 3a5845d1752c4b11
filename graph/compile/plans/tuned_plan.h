// The plan of a graph whose blocks the clock chooses, by regions and then by whole calls.
//
// Tuning chooses for each region by itself (graph/tune/tune_plan.h). Not every such choice holds in
// a call, where other launches have left the caches and the threads as they are. So the plan with
// all choices, and plans with one of the weightiest alone, are timed in turns with the plan that
// has none, by the same rule as configurations are (autotune/measure/decision.h): the default's
// plan stays unless another one beats it twice. What came of it is kept in the tuning database
// under a key of its own, the regions and their choices, so that the next process measures nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autotune/measure/decision.h"
#include "graph/compile/plans/step_trial.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

struct TunedPlan {
  std::shared_ptr<const Plan> plan;
  std::string whole_call = {};  // what came of timing whole calls, for people; empty: nothing did
};

// `options.tune` must be set. All choices of regions are taken if searching is not allowed and the
// database knows nothing, or if there is no memory for timing whole calls.
TunedPlan make_tuned_plan(const Graph& graph, const PlanOptions& options, StepInputs inputs);

// How often whole calls are timed: as often as a decision wants, less often where they are long,
// and not at all where the least takes several times the seconds of tuning.
struct CallRounds {
  autotune::DecisionRounds rounds;
  bool is_worthwhile = true;
};
CallRounds call_rounds(std::size_t plans, double call_seconds, double tuning_seconds);

}  // namespace tilewright::graph
