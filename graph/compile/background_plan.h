// Tuning a plan that is already in use.
//
// The thread of background jobs (runtime/background.h) makes the plan once more, this time with a
// search. It has copies of all it looks at and memory of its own, so it disturbs the calls of the
// function by the time it takes alone. Whoever runs the plan takes the new one when it suits him:
// between two calls.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "graph/compile/step_trial.h"
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

  // The plan that was made, once, where its programs are others than the present one's; null before
  // it is there and where there is nothing to take. Costs next to nothing.
  std::shared_ptr<const Plan> take();
  // Ends it; nothing can be taken any more.
  void stop() { job_.stop(); }
  // Waits until nothing is searched for any more, at most so many seconds; whether that is so.
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
