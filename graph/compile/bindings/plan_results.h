// The results of a run of a plan as tensors: what each one's memory is, and where it lies.
#pragma once

#include <memory>
#include <vector>

#include "graph/compile/bindings/plan_inputs.h"
#include "graph/compile/bindings/result_memory.h"
#include "graph/run/plan.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class PlanResults {
 public:
  PlanResults() = default;  // each is what the plan's output says, where the plan runs
  // The results of a function, with their origins. `come_to_host`: results of a GPU's plan that
  // are not inputs are copied to the host.
  PlanResults(std::vector<ResultOrigin> origins, bool come_to_host);

  // Finds what is done about each result of this plan (result_memory.h).
  void bind(const Plan& plan);
  void bind(std::vector<ResultOrigin> origins, const Plan& plan);
  // `buffers` are what the plan's run has given. They are memory of the latest of `steps`, or,
  // where that is null, of the results' own.
  std::vector<Tensor> tensors(const Plan& plan, const std::vector<std::shared_ptr<Buffer>>& buffers,
                              const PlanInputs& inputs, const std::vector<Tensor>& arguments,
                              const std::shared_ptr<StepCount>& steps) const;

  // The bytes of each copy that is made of a result.
  std::vector<std::int64_t> copied_bytes(const Plan& plan) const;

  const std::vector<ResultOrigin>& origins() const { return origins_; }
  const std::vector<ResultChange>& changes() const { return changes_; }

 private:
  void change(std::vector<Tensor>& results, const PlanInputs& inputs,
              const std::vector<Tensor>& arguments) const;

  std::vector<ResultOrigin> origins_;
  std::vector<ResultChange> changes_;
  bool come_to_host_ = false;
};

}  // namespace tilewright::graph
