#include "graph/compile/compiled.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "autotune/policy.h"
#include "graph/compile/bindings/weight_copies.h"
#include "graph/compile/captures/verify_capture.h"
#include "graph/compile/plans/tuned_plan.h"
#include "graph/compile/segmented_call.h"
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

std::vector<bool> lie_on_host(const std::vector<Tensor>& inputs) {
  std::vector<bool> result;
  for (const Tensor& input : inputs) result.push_back(memory_of(input) == nullptr);
  return result;
}

std::string at_line(const Break& at) {
  if (!at.node.empty()) return " in " + at.node;
  return at.where.line() > 0 ? " at " + describe(at.where) : "";
}

}  // namespace

// None: the function breaks, and has run with the call's arguments.
std::optional<CapturedFunction> CompiledSignature::capture_function(const Call& call,
                                                                    const ResolvedOptions& options,
                                                                    LoggedValues& logged) {
  CapturedFunction result;
  result.changes = handle_changes().count();
  TraceSpan span("compile", "capture");
  segment_options_ = for_segments(options);
  SegmentedCall attempt(shared_.segments, segment_options_, signature_, call.arguments, breaks_,
                        first_segments_, logged);
  std::optional<Captured> captured =
      attempt.attempt(call.function, result.returned, result.origins);
  if (!captured) {
    guards_ = attempt.take_guards();
    first_results_ = std::move(result.returned);
    tell_graph_break(options.tells_breaks);
    return std::nullopt;
  }
  if (recorded_) result.recorded = captured->graph;
  leave_views_out(captured->graph, result.origins);
  std::vector<Tensor> inputs = call.arguments;
  inputs.insert(inputs.end(), captured->captured.begin(), captured->captured.end());
  result.row_checks = RowChecks(captured->graph, options.index_checks, lie_on_host(inputs),
                                options.plan.device.target());
  result.graph = run_passes(captured->graph, {.target = options.plan.device.target()});
  result.row_checks.add_primitive(result.graph);
  result.captured = std::move(captured->captured);
  result.read = std::move(captured->read);
  result.guards = std::move(captured->guards);
  result.logs = std::move(captured->logs);
  return result;
}

CompiledSignature::CompiledSignature(const Call& call, const ResolvedOptions& options,
                                     SharedSteps& shared, LoggedValues& logged)
    : signature_(signature_of(call.arguments, options.plan.device)),
      form_(call.describe()),
      shared_(shared) {
  form_.key = call.form;
  if (options.keeps_capture) recorded_.emplace();
  auto begin = std::chrono::steady_clock::now();
  std::optional<CapturedFunction> captured;
  try {
    captured = capture_function(call, options, logged);
  } catch (const GraphBreak& error) {
    raise_error(concat("[compile] the function ", error.at.deed, at_line(error.at),
                       ", which breaks the graph, but fullgraph was asked for; ", error.what()));
  }
  if (!captured) return;
  Graph graph = std::move(captured->graph);
  take_captured(std::move(*captured));
  capture_seconds_ = seconds_since(begin);
  captured_graph_ = content_hash(graph);
  compile(std::move(graph), options, call.arguments);
}

CompiledSignature::CompiledSignature(const Graph& segment, const std::vector<Tensor>& inputs,
                                     const ResolvedOptions& options, SharedSteps& shared)
    : signature_(signature_of(inputs, options.plan.device)), shared_(shared) {
  Graph captured = segment;
  const dsl::Target target = options.plan.device.target();
  row_checks_ = RowChecks(captured, options.index_checks, lie_on_host(inputs), target);
  Graph graph = run_passes(captured, {.target = target});
  row_checks_.add_primitive(graph);
  compile(std::move(graph), options, inputs);
  gives_host_ = false;
}

void CompiledSignature::tell_graph_break(bool is_told) {
  const std::string text = text_of(breaks_.front());
  const bool is_first = shared_.breaks.empty();
  shared_.breaks.insert(text);
  if (!(is_first && is_told) && !is_logged(LogTopic::breaks)) return;
  log_line(concat("[compile] the graph breaks: ", text, " ", breaks_.front().deed,
                  ", so the function runs in segments for the signature (", to_string(signature_),
                  "), each compiled; explain() names all breaks, Options::fullgraph makes them an "
                  "Error"));
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
  row_checks_ = std::move(captured.row_checks);
  guards_hold_ = true;
  if (recorded_) recorded_ = std::move(captured.recorded);
  changes_ = captured.changes;
  ++captures_;
}

void CompiledSignature::look_at_changes() {
  std::uint64_t now = handle_changes().count();
  if (breaks_.empty() && !is_doubtful_) is_doubtful_ = handle_changes().concern(changes_, read_);
  changes_ = now;
}

void CompiledSignature::look_at_guards() {
  if (!breaks_.empty())  // it runs the function, which does not read what is gone
    std::erase_if(guards_, [](const Guard& guard) { return guard.object->is_gone; });
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
  if (!breaks_.empty()) return;
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

bool CompiledSignature::rebind(const Call& call, const ResolvedOptions& options,
                               LoggedValues& logged) {
  std::optional<CapturedFunction> now;
  try {
    now = capture_function(call, options, logged);
  } catch (const GraphBreak&) {
    return false;
  }
  is_doubtful_ = false;
  if (!now) return true;
  is_doubtful_ = content_hash(now->graph) != captured_graph_ || !has_same_places(now->captured);
  if (is_doubtful_) return false;
  take_captured(std::move(*now));
  bind_frozen_values();
  bind_captured();
  return true;
}

Device CompiledSignature::device_for(const Device& otherwise,
                                     const std::vector<Tensor>& arguments) const {
  DeviceMemory* memory = nullptr;
  auto look_at = [&](const Tensor& tensor, const char* what, std::size_t i) {
    DeviceMemory* own = memory_of(tensor);
    if (own == nullptr || own == memory) return;
    require(memory == nullptr, "[compile] ", what, " ", i, " lies on ", own->name(), ", others on ",
            memory == nullptr ? "" : memory->name(), "; bring them to one device with to()");
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
  graph_ = std::move(graph);
  for (const Mutation& m : graph_.mutations)
    mutated_.push_back(static_cast<std::size_t>(std::ranges::find(graph_.inputs, m.input) -
                                                graph_.inputs.begin()));
  PlanOptions wanted = options.plan;
  wanted.device = device;
  wanted.inputs = memory_of_inputs(options, device);
  frozen_values_ = FrozenValues(graph_, wanted, [&](std::size_t i) {
    const TensorBody& body = *input(i, arguments).body();
    return body.buffer->memory() == device.memory() && body.token.count == nullptr;
  });
  bind_frozen_values();
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
  const bool records_small =
      options.results_last && LastingRecordings::are_small(*plan_->executable());
  if (!options.records_launches && !records_small) return;
  if (!plan_->executable()->may_be_recorded()) return;
  std::shared_ptr<SharedArena>& arena = shared_.arenas[device.memory()];
  if (!arena) arena = std::make_shared<SharedArena>(device.memory());
  if (options.results_last)
    lasting_.emplace(plan_->executable(), arena);
  else
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

void CompiledSignature::bind_frozen_values() {
  frozen_values_.bind(
      [this](std::size_t i) -> const Tensor& { return captured_[i - signature_.size()]; });
}

void CompiledSignature::bind_captured() {
  addresses_.resize(graph_.inputs.size());
  for (std::size_t i = 0; i < captured_.size(); ++i)
    addresses_[signature_.size() + i] = address_of(*captured_[i].body());
  const std::vector<Tensor>& values = frozen_values_.tensors();
  for (std::size_t i = 0; i < values.size(); ++i)
    addresses_[signature_.size() + captured_.size() + i] = address_of(*values[i].body());
  result_changes_ = changes_of_results(origins_, *plan_->executable());
  pack_weights();
}

void CompiledSignature::pack_weights() {
  packed_weights_.clear();
  addresses_.resize(graph_.inputs.size());
  packed_weights_ =
      packed_copies(*plan_, [this](std::size_t i) -> const Tensor& { return input(i, {}); });
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
    if (lasting_) lasting_.emplace(plan->executable(), shared_.arenas.at(plan->device().memory()));
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
                      .is_frozen = options.weights_are_frozen && !tensor.body()->is_setting});
  for (std::size_t i : mutated_) result[i].is_frozen = false;
  return result;
}

}  // namespace tilewright::graph
