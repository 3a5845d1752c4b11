// A graph's plan with the memory that it reads and writes: what a whole function and a segment have
// in common. How often the plan is recorded, and what becomes of its results, is each one's own.
//
// The plan runs where the tensors lie, the arguments and those that the function uses besides: on
// their GPU, or, where all are the host's, on the device that the options name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/bindings/plan_inputs.h"
#include "graph/compile/bindings/written_inputs.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/captures/checked_graph.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/plans/chosen_plan.h"
#include "graph/compile/plans/saving_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/ir/ir.h"
#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The tensors that a graph is compiled for.
struct CompiledFor {
  const Signature& signature;            // of the arguments
  std::vector<std::string> names;        // of these, for messages; none: they have none
  const std::vector<Tensor>& arguments;  // of the call at hand
  std::vector<Tensor> captured;          // that the graph reads besides
  // Arguments that are weights: other runs may pass others, but nobody writes them. Empty: none.
  std::vector<bool> weights = {};
};

// That a plan's launches are not recorded, though a mode asks for it: the host works between them.
void note_unrecorded(const Plan& plan);

class BoundPlan {
 public:
  BoundPlan(CheckedGraph checked, CompiledFor tensors, const ResolvedOptions& options);

  const Plan& plan() const { return chosen_.plan(); }
  const Graph& graph() const { return graph_; }
  const PlanInputs& inputs() const { return inputs_; }
  const RowChecks& checks() const { return checks_; }
  const std::vector<std::size_t>& written() const { return written_.numbers(); }  // of inputs
  // True if the captured tensors of another run of the function lie where the plan expects them.
  bool fits(const std::vector<Tensor>& captured) const;
  void rebind(std::vector<Tensor> captured, RowChecks checks);
  // Forgets copies of the weight in this memory, and what was computed from it.
  void forget(const Buffer& weight) { inputs_.forget(weight); }

  // True if an input that is written shares elements with another one: the plan must not run.
  bool writes_shared(const std::vector<Tensor>& arguments) const {
    return !written().empty() && written_.shared(inputs_, arguments);
  }
  void require_not_shared(const std::vector<Tensor>& arguments) const;
  // Before a run: brings the inputs to where the plan reads them. Raises `Error` where one that is
  // written is frozen.
  void set_inputs(const std::vector<Tensor>& arguments);
  std::span<void* const> addresses() const { return inputs_.addresses(); }
  // Where the times of a run's launches go, `times` times over; null: they are not timed. Times of
  // an emulator mean nothing.
  LaunchTimes* times_of_run(std::int64_t times, bool is_measured);
  // Behind a run: inputs that it has written are so on the host, too.
  void take_back_written(const std::vector<Tensor>& arguments);

  // True if a better plan is, or was, searched for while this one is in use.
  bool is_searched_for() const { return chosen_.is_searched_for(); }
  // Between two runs, where it `is_searched_for`: takes what was found. `record` replaces
  // recordings of the former plan, and returns what that came to, for reports.
  void take_found(const std::function<std::string(const Plan&)>& record);
  std::shared_ptr<const BackgroundPlan> tuning() const { return chosen_.tuning(); }

  void fill(PlanReport& report) const;  // with what is known of the plan
  // `copies`: the bytes of each that is made of a result (result_memory.h).
  MemoryReport memory(std::span<const std::int64_t> copies) const;
  std::string dump() const;  // graph, tasks, regions and tile programs

 private:
  BoundPlan(CheckedGraph& checked, CompiledFor& tensors, const ResolvedOptions& options,
            const Device& device);
  std::vector<InputMemory> memory_of_inputs(const CompiledFor& tensors, bool weights_are_frozen,
                                            const Device& device) const;
  PlanOptions frozen_options(const CompiledFor& tensors, const ResolvedOptions& options,
                             const Device& device);
  StepInputs step_inputs(const std::vector<Tensor>& arguments) const;

  Graph graph_;  // without what follows from frozen weights alone
  RowChecks checks_;
  WrittenInputs written_;
  PlanInputs inputs_;
  PlanOptions options_;  // that the plan was made with: its tasks and regions follow from them
  SavingReport saving_;
  bool is_interpolated_;  // the graph, from graphs of other sizes
  ChosenPlan chosen_;
  LaunchTimes times_;
};

}  // namespace tilewright::graph
