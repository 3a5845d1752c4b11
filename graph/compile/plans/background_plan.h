// Tuning a plan that is already in use.
//
// The thread of background jobs (runtime/background.h) makes the plan once more, this time with a
// search. It works on copies and in memory of its own, so it disturbs calls of the function only by
// the processor time it takes. The function takes the new plan between two calls.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "graph/compile/plans/step_trial.h"
#include "graph/ir/ir.h"
#include "graph/run/plan.h"
#include "runtime/background.h"

namespace tilewright::graph {

class BackgroundPlan {
 public:
  // Begins to make the plan of these; `present` is the one in use. Whole calls are timed with the
  // inputs, of which what is written is copied.
  BackgroundPlan(Graph graph, PlanOptions options, std::shared_ptr<const Plan> present,
                 StepInputs inputs);

  // The new plan, if its programs differ from those of the present one; given once, null before it
  // is ready and if there is nothing to take. Costs next to nothing.
  std::shared_ptr<const Plan> take();
  // Ends it; nothing can be taken any more.
  void stop() { job_.stop(); }
  // Waits until the search is over, at most this many seconds; whether it is over.
  bool wait(double seconds) const { return job_.wait(seconds); }
  // How far it is and what came of it, for people.
  std::string text() const;

 private:
  struct Made {
    std::atomic<bool> is_ready = false;
    std::mutex mutex;  // of what follows
    std::shared_ptr<const Plan> plan;
    std::string text;
  };
  std::shared_ptr<Made> made_ = std::make_shared<Made>();
  BackgroundJob job_;
};

}  // namespace tilewright::graph
