#include "graph/compile/whole_function.h"

#include <algorithm>
#include <utility>

#include "graph/compile/captures/verify_capture.h"
#include "graph/compile/captures/verify_gradients.h"
#include "graph/ir/options/unkept_options.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

static bool are_all_of_host(const std::vector<Tensor>& tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& t) { return memory_of(t) == nullptr; });
}

static CompiledFor with_captured(CompiledFor tensors, std::vector<Tensor> captured) {
  tensors.captured = std::move(captured);
  return tensors;
}

WholeFunction::WholeFunction(CapturedFunction captured, const CompiledFor& compiled_for,
                             const ResolvedOptions& options, SharedArenas& arenas)
    : arenas_(arenas),
      graph_hash_(content_hash(captured.checked.graph)),
      recorded_(std::move(captured.recorded)),
      gradients_(std::move(captured.gradients)),
      read_(std::move(captured.read)),
      around_(std::move(captured.results.around)),
      logs_(std::move(captured.results.logs)),
      capture_seconds_(captured.seconds),
      plan_(std::move(captured.checked),
            with_captured(compiled_for, keep_own_results(std::move(captured.tensors))), options),
      results_(std::move(captured.results.origins),
               are_all_of_host(compiled_for.arguments.empty() ? plan_.inputs().captured()
                                                              : compiled_for.arguments)) {
  const Plan& plan = plan_.plan();
  results_.bind(plan);
  if (options.verifies_gradients && recorded_ && has_gradients_in_bodies(*recorded_))
    UnkeptOptions::note("verify_gradients",
                        "gradients inside of branches and loops are not compared; check_gradients "
                        "compares those of one function");
  if (options.records_launches && !plan.executable()->may_be_recorded())
    note_unrecorded(plan);
  else if (options.records_launches)
    recording_.emplace(plan.executable(), arenas_.in(plan.device().memory()));
}

// The value of a captured result of an earlier step of this function is kept, since the next step
// writes to its memory.
std::vector<Tensor> WholeFunction::keep_own_results(std::vector<Tensor> captured) {
  step_results_.clear();
  for (std::size_t i = 0; i < captured.size(); ++i) {
    Tensor& tensor = captured[i];
    if (tensor.body()->token.count == steps_) tensor = tensor.clone();
    if (tensor.body()->token.count != nullptr) step_results_.push_back(i);
  }
  return captured;
}

bool WholeFunction::rebind(CapturedFunction& now) {
  if (content_hash(now.checked.graph) != graph_hash_ || !plan_.fits(now.tensors)) return false;
  recorded_ = std::move(now.recorded);
  gradients_ = std::move(now.gradients);
  read_ = std::move(now.read);
  around_ = std::move(now.results.around);
  logs_ = std::move(now.results.logs);
  plan_.rebind(keep_own_results(std::move(now.tensors)), std::move(now.checked.checks));
  results_.bind(std::move(now.results.origins), plan_.plan());
  ++captures_;
  return true;
}

void WholeFunction::verify_capture(const TensorFunction& function,
                                   const Signature& signature) const {
  SymbolicRun now = run_over_symbols(function, signature);
  require_same_capture(
      {*recorded_, plan_.inputs().captured(), around_.form, logs_.size()},
      {now.captured.graph, now.captured.captured, now.returned.form, now.captured.logs.size()});
}

std::vector<Tensor> WholeFunction::inputs_before(const std::vector<Tensor>& arguments) const {
  std::vector<Tensor> inputs = arguments;
  const std::vector<Tensor>& captured = plan_.inputs().captured();
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  for (const Mutation& mutation : recorded_->mutations) {
    const auto written = std::ranges::find(recorded_->inputs, mutation.input);
    Tensor& input = inputs[static_cast<std::size_t>(written - recorded_->inputs.begin())];
    input = input.clone();
  }
  return inputs;
}

void WholeFunction::verify_gradients(const std::vector<Tensor>& arguments,
                                     std::uint64_t seed) const {
  if (!gradients_.empty())
    require_right_gradients(*recorded_, inputs_before(arguments), plan_.plan().device().target(),
                            seed);
}

void WholeFunction::require_no_nan(const std::vector<Tensor>& results,
                                   const std::vector<Tensor>& inputs) const {
  const auto found = std::ranges::find_if(results, [](const Tensor& x) { return has_nan(x); });
  if (found == results.end()) return;
  const std::string source = first_nan(*recorded_, inputs, plan_.plan().device().target());
  raise_error(concat("[compile] detect_nan: result ", found - results.begin(), " has a NaN; ",
                     source.empty() ? "the interpreter makes none of these inputs: compare with "
                                      "Backend::aot_eager"
                                    : concat("the first is made by ", source)));
}

// Between two calls.
void WholeFunction::take_found_plan() {
  plan_.take_found([this](const Plan& found) {
    std::string consequence;
    if (recording_) {
      recording_.emplace(Recording(found.executable(), arenas_.in(found.device().memory())));
      consequence = "; launches were recorded again for them";
    }
    results_.bind(found);
    return consequence;
  });
}

// A GPU's graph has no launches of its own to time.
std::vector<std::shared_ptr<Buffer>> WholeFunction::launch(std::int64_t times,
                                                           LaunchTimes* measured) {
  const Plan& plan = plan_.plan();
  if (recording_ && !(measured && plan.device().is_cuda()))
    return recording_->run(plan_.addresses(), times, measured);
  for (std::int64_t i = 1; i < times; ++i) plan.run(plan_.addresses());
  return plan.run(plan_.addresses(), measured);
}

std::vector<Tensor> WholeFunction::run(const std::vector<Tensor>& arguments, std::int64_t times,
                                       bool is_measured) {
  const PlanInputs& inputs = plan_.inputs();
  plan_.checks().before([&](std::size_t i) -> const Tensor& { return inputs.at(i, arguments); });
  static const std::shared_ptr<StepCount> none;
  std::vector<Tensor> results;
  {
    StepAccess access;
    if (recording_) access.add_step(*steps_);
    for (const Tensor& argument : arguments) access.add(argument.body()->token);
    for (std::size_t i : step_results_) access.add(inputs.captured()[i].body()->token);
    access.begin("compile", std::nullopt);
    plan_.set_inputs(arguments);
    if (recording_) ++steps_->latest;
    const auto buffers = launch(times, plan_.times_of_run(times, is_measured));
    plan_.take_back_written(arguments);  // of which some results are copies
    results =
        results_.tensors(plan_.plan(), buffers, inputs, arguments, recording_ ? steps_ : none);
  }
  plan_.checks().after(results);  // which reads some of them
  return results;
}

// Logged values lie in the memory of results, which the next repetition may overwrite: each
// repetition is a run of its own.
std::vector<Tensor> WholeFunction::run_and_log(const std::vector<Tensor>& arguments,
                                               std::int64_t times, bool is_measured,
                                               LoggedValues& logged) {
  if (logs_.empty()) [[likely]]
    return run(arguments, times, is_measured);
  std::vector<Tensor> results;
  for (; times > 0; --times) {
    results = run(arguments, 1, is_measured);
    logged.take(results, logs_);
  }
  return results;
}

TensorResults WholeFunction::call(const std::vector<Tensor>& arguments, std::int64_t times,
                                  bool is_measured, LoggedValues& logged) {
  if (plan_.is_searched_for()) take_found_plan();
  // A result of the step before may be an argument of this one, which writes where it lies.
  auto is_own = [&](const Tensor& t) { return t.body()->token.count == steps_; };
  TensorResults results = around_;
  if (std::ranges::none_of(arguments, is_own)) [[likely]] {
    results.tensors = run_and_log(arguments, times, is_measured, logged);
    return results;
  }
  std::vector<Tensor> kept = arguments;
  for (Tensor& argument : kept)
    if (is_own(argument)) argument = argument.clone();
  results.tensors = run_and_log(kept, times, is_measured, logged);
  return results;
}

void WholeFunction::add_to(PackageMaker& package, const Signature& signature,
                           const std::vector<std::string>& names) const {
  require(logs_.empty(),
          "[save_package] the function hands values to print() or log_callback(), "
          "which are C++ of this process; package it without");
  package.add({signature, names, plan_.graph(), plan_.plan(), plan_.inputs(), plan_.written(),
               plan_.checks(), results_});
}

void WholeFunction::fill(PlanReport& report) const {
  report.capture_seconds = capture_seconds_;
  report.captured_tensors = std::ssize(plan_.inputs().captured());
  report.captures = captures_;
  plan_.fill(report);
  report.memory = plan_.memory(results_.copied_bytes(plan_.plan()));
  for (const GradientSite& site : gradients_)
    report.derivatives.push_back(derivative_report(site.gradient, site.where));
}

}  // namespace tilewright::graph
