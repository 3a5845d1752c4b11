// Running a graph through a plan on host tensors, for tests that compare it with evaluation.
#pragma once

#include "graph/ir/evaluate.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

// How a plan is made and run.
struct PlanForm {
  PlanOptions options;
  bool recorded = false;  // through a Recording, called twice on the same inputs
  const char* name = "";
};

Evaluation run_planned(const Graph& graph, std::span<const HostTensor> inputs,
                       const PlanForm& form);

}  // namespace tilewright::graph
