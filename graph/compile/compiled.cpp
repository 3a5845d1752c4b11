#include "graph/compile/compiled.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "autotune/policy.h"
#include "graph/compile/plans/tuned_plan.h"
#include "graph/compile/plans/weight_copies.h"
#include "graph/compile/verify_capture.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "graph/tune/plan_lock.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Calls of a signature on the host that time their launches: the first one finds nothing in caches.
constexpr std::int64_t timed_calls = 4;

std::string at_line(const GraphBreak& error) {
  return error.where.line() > 0 ? " at " + describe(error.where) : "";
}

}  // namespace

TensorResults call_one_by_one(const Call& call, std::int64_t times) {
  for (; times > 1; --times) call.function(call.arguments);
  return call.function(call.arguments);
}

struct SymbolicRun {
  Captured captured;
  TensorResults returned;  // what lies around the outputs
  std::vector<ResultOrigin> origins;
};
static SymbolicRun run_over_symbols(const TensorFunction& function, const Signature& signature) {
  TraceSpan span("compile", "capture");
  Capture capture;
  std::vector<Tensor> symbols;
  for (const ArgumentType& argument : signature)
    symbols.push_back(capture.placeholder(argument.dtype, argument.shape, argument.strides));
  SymbolicRun result{.returned = function(symbols)};
  Returned tensors(result.returned.tensors, symbols);
  result.captured = capture.finish(std::exchange(result.returned.tensors, {}));
  result.origins = tensors.origins(result.captured.captured);
  return result;
}

static CapturedFunction capture_function(const TensorFunction& function,
                                         const Signature& signature) {
  CapturedFunction result;
  result.changes = handle_changes().count();
  auto [captured, returned, origins] = run_over_symbols(function, signature);
  result.returned = std::move(returned);
  result.origins = std::move(origins);
  result.graph = run_passes(captured.graph);
  result.recorded = std::move(captured.graph);
  result.captured = std::move(captured.captured);
  result.read = std::move(captured.read);
  result.guards = std::move(captured.guards);
  result.logs = std::move(captured.logs);
  return result;
}

CompiledSignature::CompiledSignature(const Call& call, const ResolvedOptions& options,
                                     SharedSteps& shared)
    : signature_(signature_of(call.arguments, options.plan.device)),
      form_(call.describe()),
      shared_(shared) {
  form_.key = call.form;
  if (options.keeps_capture) recorded_.emplace();
  auto begin = std::chrono::steady_clock::now();
  Graph graph;
  try {
    CapturedFunction captured = capture_function(call.function, signature_);
    graph = std::move(captured.graph);
    take_captured(std::move(captured));
  } catch (const GraphBreak& error) {
    require(!options.breaks_are_errors, "[compile] the function ", error.deed, at_line(error),
            ", which breaks the graph, but fullgraph was asked for; ", error.what());
    tell_graph_break(error);
    return;
  }
  capture_seconds_ = seconds_since(begin);
  captured_graph_ = content_hash(graph);
  compile(std::move(graph), options, call.arguments);
}

void CompiledSignature::tell_graph_break(const GraphBreak& error) {
  graph_break_ = error.operation + at_line(error);
  if (!shared_.breaks.insert(graph_break_).second && !is_logged(LogTopic::breaks)) return;
  std::string text = concat("[compile] the graph breaks: ", graph_break_, " ", error.deed,
                            ", so the function runs op by op for the signature (",
                            to_string(signature_), "), as if it were not compiled; ", error.what(),
                            "; Options::fullgraph makes this an Error");
  log_line(text);
}

// Keeps the value of a captured result of an earlier step of this function, since the next step
// writes to its memory.
void CompiledSignature::take_captured(CapturedFunction&& captured) {
  results_.clear();
  for (std::size_t i = 0; i < captured.captured.size(); ++i) {
    Tensor& tensor = captured.captured[i];
    if (tensor.body()->token.count == steps_) tensor = tensor.clone();
    if (tensor.body()->token.count != nullptr) results_.push_back(i);
  }
  captured_ = std::move(captured.captured);
  read_ = std::move(captured.read);
  guards_ = std::move(captured.guards);
  logs_ = std::move(captured.logs);
  returned_ = std::move(captured.returned);
  origins_ = std::move(captured.origins);
  guards_hold_ = true;
  if (recorded_) recorded_ = std::move(captured.recorded);
  changes_ = captured.changes;
  ++captures_;
}

void CompiledSignature::look_at_changes() {
  std::uint64_t now = handle_changes().count();
  if (graph_break_.empty() && !is_doubtful_)
    is_doubtful_ = handle_changes().concern(changes_, read_);
  changes_ = now;
}

void CompiledSignature::look_at_guards() {
  guards_hold_ = std::ranges::all_of(
      guards_, [](const Guard& guard) { return guard.object->is_gone || guard.holds(); });
  if (std::ranges::any_of(guards_, [](const Guard& guard) { return guard.object->is_gone; }))
    is_doubtful_ = true;
}

std::vector<Difference> CompiledSignature::differences_of_guards() const {
  std::vector<Difference> result;
  for (const Guard& guard : guards_)
    if (!guard.holds())
      result.push_back({.reason = RecompileReason::guard,
                        .found = concat(guard.object->name, " is ", guard.text()),
                        .expected = guard.expected,
                        .where = guard.where});
  return result;
}

std::string CompiledSignature::guards_text() const {
  std::string text;
  for (const FormFact& fact : form_.facts)
    if (fact.kind != FormKind::definition) text += concat("  ", to_string(fact), "\n");
  for (const Guard& guard : guards_)
    text += concat("  ", guard.object->name, " is ", guard.expected, " (read at ",
                   describe(guard.where), ")\n");
  return text;
}

void CompiledSignature::verify_capture(const TensorFunction& function) const {
  if (!graph_break_.empty()) return;
  SymbolicRun now = run_over_symbols(function, signature_);
  require_same_capture(
      {*recorded_, captured_, returned_.form, logs_.size()},
      {now.captured.graph, now.captured.captured, now.returned.form, now.captured.logs.size()});
}

bool CompiledSignature::has_same_places(const std::vector<Tensor>& captured) const {
  auto is_same = [&](const Tensor& a, const Tensor& b) {
    return memory_of(a) == memory_of(b) && (!plan_->device().target().is_gpu() ||
                                            begins_aligned(*a.body()) == begins_aligned(*b.body()));
  };
  return std::ranges::equal(captured, captured_, is_same);
}

bool CompiledSignature::rebind(const TensorFunction& function) {
  CapturedFunction now;
  try {
    now = capture_function(function, signature_);
  } catch (const GraphBreak&) {
    return false;
  }
  if (content_hash(now.graph) != captured_graph_ || !has_same_places(now.captured)) return false;
  take_captured(std::move(now));
  bind_captured();
  is_doubtful_ = false;
  return true;
}

Device CompiledSignature::device_for(const Device& otherwise,
                                     const std::vector<Tensor>& arguments) const {
  DeviceMemory* memory = nullptr;
  auto look_at = [&](const Tensor& tensor, const char* what, std::size_t i) {
    DeviceMemory* own = memory_of(tensor);
    if (own == nullptr) return;
    require(memory == nullptr || own == memory, "[compile] ", what, " ", i, " lies on ",
            own->name(), ", others on ", memory == nullptr ? "" : memory->name(),
            "; bring them to one device with to()");
    memory = own;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) look_at(arguments[i], "argument", i);
  for (std::size_t i = 0; i < captured_.size(); ++i) look_at(captured_[i], "captured tensor", i);
  return memory == nullptr ? otherwise : Device::of(memory);
}

static std::shared_ptr<PlanLock> lock_of(const ResolvedOptions& options) {
  require(options.write_plan.empty() || options.locked_plan.empty(), "[compile] write_plan is \"",
          options.write_plan, "\" and locked_plan \"", options.locked_plan,
          "\"; a plan is written or kept to");
  if (!options.write_plan.empty()) return PlanLock::write(options.write_plan);
  return options.locked_plan.empty() ? nullptr : PlanLock::read(options.locked_plan);
}

void CompiledSignature::compile(Graph graph, const ResolvedOptions& options,
                                const std::vector<Tensor>& arguments) {
  TraceSpan span("compile", "plan");
  Device device = device_for(options.plan.device, arguments);
  if (DeviceMemory* memory = device.memory()) {
    host_arguments_.emplace(memory);
    const std::vector<Tensor>& decide = arguments.empty() ? captured_ : arguments;
    gives_host_ = std::ranges::all_of(decide, [](const Tensor& t) { return !memory_of(t); });
  }
  std::vector<bool> lies_on_host;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    lies_on_host.push_back(memory_of(input(i, arguments)) == nullptr);
  row_checks_ = RowChecks(graph, options.index_checks, lies_on_host);
  graph_ = graph;
  for (const Mutation& m : graph.mutations)
    mutated_.push_back(
        static_cast<std::size_t>(std::ranges::find(graph.inputs, m.input) - graph.inputs.begin()));
  PlanOptions wanted = options.plan;
  wanted.device = device;
  wanted.inputs = memory_of_inputs(options, device);
  wanted.lock = lock_of(options);
  wanted.title = to_string(signature_);
  plan_options_ = wanted;
  plan_options_.lock = nullptr;
  if (wanted.tune) {
    TunedPlan tuned = make_tuned_plan(graph_, wanted, step_inputs(arguments));
    plan_ = std::move(tuned.plan);
    whole_call_ = std::move(tuned.whole_call);
  } else {
    plan_ = make_plan(graph_, wanted);
  }
  if (options.searches_in_background && plan_->tuning().left > 0 &&
      autotune::tune_policy() == autotune::TunePolicy::on) {
    wanted.tune->searches = true;
    tuning_ =
        std::make_shared<BackgroundPlan>(graph_, std::move(wanted), plan_, step_inputs(arguments));
  }
  bind_captured();
  if (!options.records_launches) return;
  std::shared_ptr<SharedArena>& arena = shared_.arenas[device.memory()];
  if (!arena) arena = std::make_shared<SharedArena>(device.memory());
  recording_.emplace(plan_->executable(), arena);
}

// Tensors with bodies of their own, since the background does not notice a tensor that moves.
StepInputs CompiledSignature::step_inputs(const std::vector<Tensor>& arguments) const {
  StepInputs result{{}, signature_.size(), mutated_};
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const TensorBody& body = *input(i, arguments).body();
    result.inputs.push_back(make_tensor(body.dtype, body.view, body.buffer));
  }
  return result;
}

// Ends the search, even if another owner still waits for it.
CompiledSignature::~CompiledSignature() {
  if (tuning_) tuning_->stop();
}

void CompiledSignature::bind_captured() {
  addresses_.resize(graph_.inputs.size());
  for (std::size_t i = 0; i < captured_.size(); ++i)
    addresses_[signature_.size() + i] = address_of(*captured_[i].body());
  result_changes_ = changes_of_results(origins_, *plan_->executable());
  pack_weights();
}

void CompiledSignature::pack_weights() {
  packed_weights_.clear();
  addresses_.resize(graph_.inputs.size());
  packed_weights_ = packed_copies(
      *plan_, [this](std::size_t i) -> const Tensor& { return captured_[i - signature_.size()]; });
  for (const std::shared_ptr<Buffer>& copy : packed_weights_) addresses_.push_back(copy->data());
}

// Called between two calls; waits for the one before, on a GPU too.
void CompiledSignature::take_tuned_plan() {
  std::shared_ptr<const Plan> plan = tuning_->take();
  if (!plan) [[likely]]
    return;
  try {
    plan->device().synchronize();
    if (recording_) {
      Recording tuned(plan->executable(), shared_.arenas.at(plan->device().memory()));
      recording_.emplace(std::move(tuned));
      taken_ = "; launches were recorded anew for them";
    }
    plan_ = std::move(plan);
    times_ = {};
    result_changes_ = changes_of_results(origins_, *plan_->executable());
    pack_weights();
  } catch (const Error& error) {
    taken_ = concat("; they are not used: ", error.what());
  }
}

std::vector<InputMemory> CompiledSignature::memory_of_inputs(const ResolvedOptions& options,
                                                             const Device& device) const {
  const bool is_gpu = device.target().is_gpu();
  std::vector<InputMemory> result;
  for (const ArgumentType& argument : signature_)
    result.push_back({.is_aligned = !is_gpu || argument.is_aligned});
  for (const Tensor& tensor : captured_)
    result.push_back({.is_aligned = !is_gpu || begins_aligned(*tensor.body()),
                      .is_frozen = options.weights_are_frozen});
  for (std::size_t i : mutated_) result[i].is_frozen = false;
  return result;
}

const Tensor& CompiledSignature::input(std::size_t i, const std::vector<Tensor>& arguments) const {
  return i < signature_.size() ? arguments[i] : captured_[i - signature_.size()];
}

bool CompiledSignature::is_brought(const Tensor& tensor) const {
  return host_arguments_ && memory_of(tensor) == nullptr;
}

void* CompiledSignature::address_for_plan(std::size_t i, const Tensor& tensor) {
  return is_brought(tensor) ? host_arguments_->bring(i, tensor) : address_of(*tensor.body());
}

void CompiledSignature::set_addresses(const std::vector<Tensor>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    addresses_[i] = address_for_plan(i, arguments[i]);
  if (host_arguments_)
    for (std::size_t i = arguments.size(); i < graph_.inputs.size(); ++i)
      addresses_[i] = address_for_plan(i, captured_[i - arguments.size()]);
  if (!mutated_.empty()) require_no_aliases(arguments);
}

void CompiledSignature::take_back_mutated(const std::vector<Tensor>& arguments) {
  for (std::size_t i : mutated_)
    if (const Tensor& tensor = input(i, arguments); is_brought(tensor))
      host_arguments_->take_back(i, tensor);
}

// A kernel that writes an input in place reads all others as if they were elsewhere. Captured
// tensors were compared with each other when they were captured.
void CompiledSignature::require_no_aliases(const std::vector<Tensor>& arguments) const {
  for (std::size_t written : mutated_) {
    require(
        !input(written, arguments).body()->buffer->is_frozen(), "[compile] input ", written,
        " is written in place and frozen: functions compiled with Options::freezing hold packed "
        "copies of it; pass a clone, or compile those without");
    auto [low, high] = bytes_spanned(input(written, arguments));
    std::size_t others = written < arguments.size() ? graph_.inputs.size() : arguments.size();
    for (std::size_t i = 0; i < others; ++i) {
      if (i == written) continue;
      auto [other_low, other_high] = bytes_spanned(input(i, arguments));
      require(other_low >= high || low >= other_high, "[compile] input ", written,
              " is written in place and shares memory with input ", i,
              " (arguments first, then captured tensors); pass a clone of one of them");
    }
  }
}

std::vector<Tensor> CompiledSignature::wrap(const std::vector<std::shared_ptr<Buffer>>& buffers,
                                            const std::vector<Tensor>& arguments) const {
  std::vector<Tensor> result;
  result.reserve(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PlanOutput& output = plan_->outputs()[i];
    if (output.input) {
      result.push_back(input(static_cast<std::size_t>(*output.input), arguments));
      continue;
    }
    result.push_back(make_tensor(output.dtype, row_major(output.shape), buffers[i]));
    if (host_arguments_ && gives_host_)
      result.back() = copy_to(result.back(), Device::cpu());
    else if (recording_)
      result.back().body()->token = {steps_, steps_->latest, static_cast<int>(i)};
  }
  if (!result_changes_.empty()) [[unlikely]]
    change_results(result, arguments);
  return result;
}

void CompiledSignature::change_results(std::vector<Tensor>& results,
                                       const std::vector<Tensor>& arguments) const {
  for (const auto& [i, kind, other] : result_changes_) {
    Tensor& result = results[i];
    switch (kind) {
      case ResultChange::Kind::copied: result = copy_row_major(result); break;
      case ResultChange::Kind::input: result = input(other, arguments); break;
      case ResultChange::Kind::joined:
        result =
            make_tensor(result.dtype(), row_major(result.shape()), results[other].body()->buffer);
    }
  }
}

// Where the times of this run's launches go; null if they are not timed. Times of an emulator mean
// nothing.
LaunchTimes* CompiledSignature::times_of_run(std::int64_t times, bool is_measured) {
  if (is_measured) return &times_;
  if (times_.runs >= timed_calls) [[likely]]
    return nullptr;
  const Device& device = plan_->device();
  bool is_free = times == 1 && !device.target().is_gpu() && !is_tracing();
  return is_free ? &times_ : nullptr;
}

// A GPU's graph has no launches of its own to time.
std::vector<std::shared_ptr<Buffer>> CompiledSignature::launch(std::int64_t times,
                                                               LaunchTimes* measured) {
  if (recording_ && !(measured && plan_->device().is_cuda()))
    return recording_->run(addresses_, times, measured);
  for (std::int64_t i = 1; i < times; ++i) plan_->run(addresses_);
  return plan_->run(addresses_, measured);
}

std::vector<Tensor> CompiledSignature::run(const std::vector<Tensor>& arguments, std::int64_t times,
                                           bool is_measured) {
  row_checks_.before([&](std::size_t i) -> const Tensor& { return input(i, arguments); });
  std::vector<Tensor> results;
  {
    StepAccess access;
    if (recording_) access.add_step(*steps_);
    for (const Tensor& argument : arguments) access.add(argument);
    for (std::size_t i : results_) access.add(captured_[i]);
    access.begin("compile", std::nullopt);
    set_addresses(arguments);
    if (recording_) ++steps_->latest;
    results = wrap(launch(times, times_of_run(times, is_measured)), arguments);
    take_back_mutated(arguments);
  }
  row_checks_.after(results);  // which reads some of them
  return results;
}

// What is logged lies in the memory of results, which the next time may write: each time is a run
// of its own.
std::vector<Tensor> CompiledSignature::run_and_log(const std::vector<Tensor>& arguments,
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

TensorResults CompiledSignature::call(const Call& call, std::int64_t times, bool is_measured,
                                      LoggedValues& logged) {
  if (!graph_break_.empty()) return call_one_by_one(call, times);
  if (tuning_) take_tuned_plan();
  // A result of the step before may be an argument of this one, which writes where it lies.
  auto is_own = [&](const Tensor& t) { return t.body()->token.count == steps_; };
  TensorResults results = returned_;
  if (std::ranges::none_of(call.arguments, is_own)) [[likely]] {
    results.tensors = run_and_log(call.arguments, times, is_measured, logged);
    return results;
  }
  std::vector<Tensor> kept = call.arguments;
  for (Tensor& argument : kept)
    if (is_own(argument)) argument = argument.clone();
  results.tensors = run_and_log(kept, times, is_measured, logged);
  return results;
}

}  // namespace tilewright::graph
