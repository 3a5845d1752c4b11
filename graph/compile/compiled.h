// One signature of a compiled function: what it was compiled for, and what a call of it runs.
//
// Separate so that the table of signatures need not know plans, buffers and aliasing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/bindings/frozen_values.h"
#include "graph/compile/bindings/host_arguments.h"
#include "graph/compile/bindings/lasting_recordings.h"
#include "graph/compile/bindings/logged_values.h"
#include "graph/compile/bindings/result_memory.h"
#include "graph/compile/calls/call.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/plans/background_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/compile/segments.h"
#include "graph/ir/ir.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/checks/row_checks.h"
#include "graph/tensor/memory/step.h"
#include "runtime/plan/recording.h"

namespace tilewright::graph {

// What the signatures of one function share.
struct SharedSteps {
  std::map<DeviceMemory*, std::shared_ptr<SharedArena>> arenas;  // of recordings, by memory
  std::set<std::string> breaks;                                  // that stderr has told
  SegmentTable segments{*this};
};

// A function run once over symbolic arguments.
struct CapturedFunction {
  Graph graph;     // after the passes
  Graph recorded;  // before them
  RowChecks row_checks;
  std::vector<Tensor> captured;     // its inputs behind the arguments
  std::vector<const Buffer*> read;  // of these and of other tensors that it looked at
  std::vector<Guard> guards;
  std::vector<LogCallback> logs;  // of its last outputs
  TensorResults returned;         // what lies around the outputs; no tensors
  std::vector<ResultOrigin> origins;
  std::uint64_t changes = 0;  // of handles, before (handle_changes.h)
};

// Compiled code runs where the tensors lie, the arguments and those that the function uses besides:
// on their GPU, or, where all are the host's, on the device that the options name. Where that is a
// GPU, tensors of the host are copied there for each call (host_arguments.h), and results come back
// to the host if all arguments are the host's.
class CompiledSignature {
 public:
  // Captures the function over symbolic arguments and compiles what it recorded. Where it breaks,
  // or raises an exception, it has run with the call's arguments, and `logged` has what it logged.
  CompiledSignature(const Call& call, const ResolvedOptions& options, SharedSteps& shared,
                    LoggedValues& logged);
  // Compiles a segment, all of whose inputs are arguments of its calls. Its results lie where it
  // runs, and calls overwrite none that somebody holds.
  CompiledSignature(const Graph& segment, const std::vector<Tensor>& inputs,
                    const ResolvedOptions& options, SharedSteps& shared);
  ~CompiledSignature();
  // `times` times over, on what the time before left; gives the results of the last. Launches are
  // timed at the first calls on the host, and where `is_measured` says so. What the function logs
  // each time is added to `logged`.
  TensorResults call(const Call& call, std::int64_t times, bool is_measured, LoggedValues& logged);

  // `results` become the memory of the results, each row-major; null where it is that of the input
  // that the plan's output names.
  void run_segment(const std::vector<Tensor>& inputs, bool is_measured,
                   std::vector<std::shared_ptr<Buffer>>& results);
  const std::vector<PlanOutput>& outputs() const { return plan_->outputs(); }

  const Signature& signature() const { return signature_; }
  const ArgumentForm& form() const { return form_; }
  // Called when handles have changed: sets `is_doubtful` if the function has read one of these.
  void look_at_changes();
  bool is_doubtful() const { return is_doubtful_; }
  // Called when guarded values have changed. One that is gone makes the signature doubtful, as a
  // handle does.
  void look_at_guards();
  bool guards_hold() const { return guards_hold_; }
  // What the call, of this signature's arguments, has that it was not compiled for.
  std::vector<Difference> differences_of_guards() const;
  std::string guards_text() const;  // a line each; empty: there are none
  // Runs the function over symbols once more (Options::verify_capture). Raises `Error` naming the
  // line where it does something else than when it was captured.
  void verify_capture(const TensorFunction& function) const;
  // Captures the function again. True: its graph is the same, perhaps with other memory, which is
  // read from now on, or it breaks now. False: it must be compiled again. `logged` is as above.
  bool rebind(const Call& call, const ResolvedOptions& options, LoggedValues& logged);
  PlanReport report() const;
  std::string dump() const;  // graph, tasks, regions and tile programs
  // Under way or over; null: nothing is tuned while the function is in use.
  std::shared_ptr<const BackgroundPlan> tuning() const { return tuning_; }

 private:
  void take_tuned_plan();
  void take_captured(CapturedFunction&& captured);
  bool has_same_places(const std::vector<Tensor>& captured) const;
  LaunchTimes* times_of_run(std::int64_t times, bool is_measured);
  std::vector<std::shared_ptr<Buffer>> launch(std::int64_t times, LaunchTimes* measured);
  std::optional<CapturedFunction> capture_function(const Call& call, const ResolvedOptions& options,
                                                   LoggedValues& logged);
  void tell_graph_break(bool is_told);
  TensorResults call_in_segments(const Call& call, std::int64_t times, bool is_measured,
                                 LoggedValues& logged);
  void bind_captured();
  // Makes the packed copies that the plan reads, and adds their addresses after those of the
  // inputs.
  void pack_weights();
  void compile(Graph graph, const ResolvedOptions& options, const std::vector<Tensor>& arguments);
  void bind_frozen_values();
  StepInputs step_inputs(const std::vector<Tensor>& arguments) const;
  Device device_for(const Device& otherwise, const std::vector<Tensor>& arguments) const;
  std::vector<Tensor> run(const std::vector<Tensor>& arguments, std::int64_t times,
                          bool is_measured);
  std::vector<Tensor> run_and_log(const std::vector<Tensor>& arguments, std::int64_t times,
                                  bool is_measured, LoggedValues& logged);
  std::vector<InputMemory> memory_of_inputs(const ResolvedOptions& options,
                                            const Device& device) const;
  void set_addresses(const std::vector<Tensor>& arguments);
  void* address_for_plan(std::size_t i, const Tensor& tensor);
  bool is_brought(const Tensor& tensor) const;
  void take_back_mutated(const std::vector<Tensor>& arguments);
  void require_may_write(const std::vector<Tensor>& arguments) const;
  std::string text_of_input(std::size_t i) const;
  [[noreturn]] void raise_aliases(std::size_t written, std::size_t other) const;
  const Tensor& input(std::size_t i, const std::vector<Tensor>& arguments) const;
  std::vector<Tensor> wrap(const std::vector<std::shared_ptr<Buffer>>& buffers,
                           const std::vector<Tensor>& arguments) const;
  void change_results(std::vector<Tensor>& results, const std::vector<Tensor>& arguments) const;

  Signature signature_;
  ArgumentForm form_;       // of the arguments
  TensorResults returned_;  // what lies around the results
  Graph graph_;             // after the passes
  std::vector<Tensor> captured_;
  FrozenValues frozen_values_;        // inputs of the graph behind the captured tensors
  std::vector<const Buffer*> read_;   // what they and others that were looked at lay in
  std::vector<std::size_t> results_;  // of captured tensors: those of recorded functions
  std::uint64_t changes_ = 0;         // of handles, when that was looked at
  bool is_doubtful_ = false;
  std::vector<Guard> guards_;
  bool guards_hold_ = true;
  std::vector<LogCallback> logs_;
  std::optional<Graph> recorded_;  // as it was captured, where later captures are compared with it
  std::int64_t captures_ = 0;
  std::vector<std::size_t> mutated_;  // inputs
  RowChecks row_checks_;
  Hash captured_graph_;  // with the outputs of checks
  std::shared_ptr<const Plan> plan_;
  PlanOptions plan_options_;  // that it was made with, of which its tasks and regions follow
  SharedSteps& shared_;
  std::optional<Recording> recording_;
  std::optional<LastingRecordings> lasting_;                          // instead, of a segment
  std::shared_ptr<StepCount> steps_ = std::make_shared<StepCount>();  // of the recording
  std::optional<HostArguments> host_arguments_;                       // where the plan is a GPU's
  bool gives_host_ = true;  // results that are not inputs lie on the host
  std::vector<ResultOrigin> origins_;
  std::vector<ResultChange> result_changes_;
  std::vector<void*> addresses_;  // of inputs: arguments, captured and frozen ones, packed weights
  std::vector<std::shared_ptr<Buffer>> packed_weights_;
  LaunchTimes times_;
  std::vector<Break> breaks_;  // for which the function runs in segments; empty: nowhere
  Followers first_segments_;
  std::optional<TensorResults> first_results_;  // of the call that found the breaks
  ResolvedOptions segment_options_;
  double capture_seconds_ = 0;
  std::string whole_call_;  // what came of timing whole calls (tuned_plan.h)
  std::shared_ptr<BackgroundPlan> tuning_;
  std::string taken_;  // what became of its plan
};

}  // namespace tilewright::graph
