// A function that is one graph for one signature: the plan of that graph, its recording, and what
// was captured about its results and about the memory that it reads besides its arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/compile/bindings/logged_values.h"
#include "graph/compile/bindings/plan_results.h"
#include "graph/compile/bindings/shared_arenas.h"
#include "graph/compile/calls/structure.h"
#include "graph/compile/captures/captured_function.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/packages/package_maker.h"
#include "graph/compile/plans/bound_plan.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/ir/ir.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/tensor.h"
#include "runtime/plan/recording.h"

namespace tilewright::graph {

// Results come back to the host if all arguments are the host's, wherever the plan runs.
class WholeFunction {
 public:
  // Compiles what was captured. `compiled_for.captured` is empty: the capture has those tensors.
  WholeFunction(CapturedFunction captured, const CompiledFor& compiled_for,
                const ResolvedOptions& options, SharedArenas& arenas);
  // True if it writes an argument or a captured tensor that shares elements with another one. Such
  // a call is an Error.
  bool writes_shared(const std::vector<Tensor>& arguments) const {
    return plan_.writes_shared(arguments);
  }
  void require_not_shared(const std::vector<Tensor>& arguments) const {
    plan_.require_not_shared(arguments);
  }
  bool writes_inputs() const { return !plan_.written().empty(); }
  // `times` times over, on what the time before left; gives the results of the last. Launches are
  // timed at the first calls on the host, and where `is_measured` says so. What the function logs
  // each time is added to `logged`.
  TensorResults call(const std::vector<Tensor>& arguments, std::int64_t times, bool is_measured,
                     LoggedValues& logged);

  // True if handles that the function has read may have changed since this was called last.
  bool look_at_changes() { return read_.look(); }
  // Reads from now on what another capture of the function has found. False, and nothing is
  // changed: the graph is another one, or reads memory that the plan is not for.
  bool rebind(CapturedFunction& now);
  // Runs the function over symbols once more (Options::verify_capture). Raises `Error` naming the
  // line where it does something else than when it was captured.
  void verify_capture(const TensorFunction& function, const Signature& signature) const;

  // Raises `Error` where a gradient of the recorded graph is wrong (Options::verify_gradients).
  void verify_gradients(const std::vector<Tensor>& arguments, std::uint64_t seed) const;
  // The inputs of the recorded graph as they are before a call with these arguments.
  std::vector<Tensor> inputs_before(const std::vector<Tensor>& arguments) const;
  // Raises `Error` where one of the results of such a call has a NaN (Options::detect_nan).
  void require_no_nan(const std::vector<Tensor>& results, const std::vector<Tensor>& inputs) const;

  void fill(PlanReport& report) const;
  // Adds it to a package as the function of this signature; raises `Error` for what no package
  // holds.
  void add_to(PackageMaker& package, const Signature& signature,
              const std::vector<std::string>& names) const;
  std::string dump() const { return plan_.dump(); }
  std::shared_ptr<const BackgroundPlan> tuning() const { return plan_.tuning(); }

 private:
  void take_found_plan();
  std::vector<Tensor> keep_own_results(std::vector<Tensor> captured);
  std::vector<std::shared_ptr<Buffer>> launch(std::int64_t times, LaunchTimes* measured);
  std::vector<Tensor> run(const std::vector<Tensor>& arguments, std::int64_t times,
                          bool is_measured);
  std::vector<Tensor> run_and_log(const std::vector<Tensor>& arguments, std::int64_t times,
                                  bool is_measured, LoggedValues& logged);

  SharedArenas& arenas_;
  std::shared_ptr<StepCount> steps_ = std::make_shared<StepCount>();  // of the recording
  Hash graph_hash_;                // of the graph after the passes, with the outputs of checks
  std::optional<Graph> recorded_;  // before the passes, where it is looked at later
  std::vector<GradientSite> gradients_;  // in it
  ReadMemory read_;
  TensorResults around_;  // what lies around the results
  std::vector<LogCallback> logs_;
  std::vector<std::size_t> step_results_;  // of captured tensors: those of recorded functions
  std::int64_t captures_ = 1;
  double capture_seconds_;  // of the first
  BoundPlan plan_;
  PlanResults results_;
  std::optional<Recording> recording_;
};

}  // namespace tilewright::graph
