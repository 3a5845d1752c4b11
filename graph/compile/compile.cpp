#include "graph/compile/compile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dsl/launch/full_code.h"
#include "graph/compile/call_gate.h"
#include "graph/compile/function_plans.h"
#include "graph/compile/marks/mark_scope.h"
#include "graph/compile/options/nested_options.h"
#include "graph/compile/packages/package_maker.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"
#include "runtime/cpu/parallel.h"
#include "runtime/package/contents_bytes.h"

namespace tilewright {

using graph::Call;

struct CompiledFunction::State {
  TensorFunction function;
  graph::CallGate gate;  // of the plans; a thread inside it owns the state
  graph::FunctionPlans plans;
  std::function<void(const Device&)> move;  // of what the function holds; none: nothing
  std::string region;  // that it is inside other functions; empty: a part of what is around

  State(TensorFunction function_, Options options)
      : function(std::move(function_)), plans(std::move(options)) {}
  static State* make(TensorFunction function, Options options) {
    detail::require_function(function);
    return new State(std::move(function), std::move(options));
  }
  // As of a mutex.
  void lock() { gate.enter(); }
  void unlock() {
    if (gate.leave()) delete this;
  }
  static void end(State* state) {
    if (state->gate.end()) delete state;
  }

  TensorResults call(const std::vector<Tensor>& arguments, std::int64_t times, bool is_measured);
  TensorResults call(const Call& call, std::int64_t times, bool is_measured);
  TensorResults run(const Call& call, std::int64_t times, bool is_measured,
                    graph::LoggedValues& logged);
};

// The meaning of `repeat`, for functions that are not compiled.
static TensorResults call_one_by_one(const Call& call, std::int64_t times) {
  for (; times > 1; --times) call.function(call.arguments);
  return call.function(call.arguments);
}

static void require_concrete_arguments(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const Tensor& argument = call.arguments[i];
    if (!argument.defined() || argument.is_symbolic()) [[unlikely]]
      raise_error(
          concat("[compile] ", call.describe().places.at(i).text, graph::flaw_of(argument)));
    require_current(argument.body()->token, "compile", std::nullopt);
  }
}

TensorResults CompiledFunction::State::run(const Call& call, std::int64_t times, bool is_measured,
                                           graph::LoggedValues& logged) {
  // Inside a capture the function is part of what is being captured.
  graph::MarkScope mark(region);
  ThreadLimit limit(plans.options().threads);
  if (graph::Capture::active()) graph::note_nested(plans.options());
  if (!plans.is_captured() || graph::Capture::active() || stance() == Stance::force_eager)
    return call_one_by_one(call, times);
  require_concrete_arguments(call);
  TensorFunction alone;
  {
    GatedLock lock(*this);
    if (auto results = plans.call(call, times, is_measured, logged)) return *std::move(results);
    alone = call.function;
  }
  // Op by op, and outside of the lock: the function is the user's, and the state may be gone.
  return call_one_by_one({alone, call.arguments, call.form, call.describe}, times);
}

// Callbacks are the user's: they run outside of the lock, and when the state may be gone.
TensorResults CompiledFunction::State::call(const Call& call, std::int64_t times,
                                            bool is_measured) {
  graph::LoggedValues logged;
  TensorResults results;
  try {
    results = run(call, times, is_measured, logged);
  } catch (...) {
    logged.hand_over();
    throw;
  }
  logged.hand_over();
  return results;
}

TensorResults CompiledFunction::State::call(const std::vector<Tensor>& arguments,
                                            std::int64_t times, bool is_measured) {
  static const std::string no_form;
  const std::function<graph::ArgumentForm()> describe = [&] {
    return graph::form_of_tensors(arguments.size(), plans.options().argument_names);
  };
  return call({function, arguments, no_form, describe}, times, is_measured);
}

CompiledFunction::CompiledFunction(TensorFunction function, Options options)
    : state_(State::make(std::move(function), std::move(options)), State::end) {}

const Options& CompiledFunction::options() const { return state_->plans.options(); }

void CompiledFunction::on_move(std::function<void(const Device&)> move) {
  state_->move = std::move(move);
}

void CompiledFunction::move_to(const Device& device) {
  GatedLock lock(*state_);
  if (state_->move) state_->move(device);
  state_->plans.move_to(device);
}

void CompiledFunction::mark_as_region(std::string name) {
  require(!name.empty(), "[region] the name is empty; give the one that reports should show");
  state_->region = std::move(name);
}

std::vector<Tensor> CompiledFunction::call(const std::vector<Tensor>& arguments) const {
  return repeat(1, arguments);
}

std::vector<Tensor> CompiledFunction::repeat(std::int64_t times,
                                             const std::vector<Tensor>& arguments) const {
  require(times >= 1, "[repeat] times is ", times, "; it must be at least 1");
  return state_->call(arguments, times, false).tensors;
}

TensorResults CompiledFunction::call_tensors(const std::vector<Tensor>& arguments) const {
  return state_->call(arguments, 1, false);
}

TensorResults CompiledFunction::call_structures(const graph::Call& call) const {
  return state_->call(call, 1, false);
}

void CompiledFunction::measure(const std::vector<Tensor>& arguments, std::int64_t calls) const {
  require(calls >= 1, "[measure] calls is ", calls, "; it must be at least 1");
  for (; calls > 0; --calls) {
    state_->call(arguments, 1, true);
    finish_compiling();  // the first call may have compiled
  }
}

void finish_compiling() { dsl::finish_full_code(); }

std::vector<Recompilation> CompiledFunction::recompilations() const {
  GatedLock lock(*state_);
  return state_->plans.recompilations();
}

MemoryReport CompiledFunction::memory(const std::vector<Tensor>& arguments) const {
  static const std::string no_form;
  const std::function<graph::ArgumentForm()> describe = [&] {
    return graph::form_of_tensors(arguments.size(), options().argument_names);
  };
  return memory_of({state_->function, arguments, no_form, describe});
}

MemoryReport CompiledFunction::memory_of(const graph::Call& call) const {
  require(state_->plans.is_captured(),
          "[memory] the backend is eager, which plans nothing; compile the function with "
          "Backend::tilewright");
  require(!graph::Capture::active(),
          "[memory] the function is a part of what is captured around it; ask outside of it");
  require_concrete_arguments(call);
  ThreadLimit limit(options().threads);
  graph::LoggedValues logged;
  GatedLock lock(*state_);
  return state_->plans.memory(call, logged);
}

std::vector<PlanReport> CompiledFunction::report() const {
  GatedLock lock(*state_);
  return state_->plans.report();
}

std::string CompiledFunction::explain() const {
  return graph::explain_function(options(), report(), recompilations());
}

std::string CompiledFunction::dump() const {
  GatedLock lock(*state_);
  return state_->plans.dump();
}

void CompiledFunction::save_package(const FilePath& file,
                                    const std::vector<std::string>& output_names,
                                    const std::string& foreign_instruction_set) const {
  graph::PackageMaker package(output_names, options().threads, foreign_instruction_set);
  {
    GatedLock lock(*state_);
    state_->plans.add_to(package);
  }
  write_package({package.take()}, file.string());
}

bool CompiledFunction::wait_until_tuned(double seconds) const {
  std::vector<std::shared_ptr<const graph::BackgroundPlan>> tunings;
  {
    GatedLock lock(*state_);
    tunings = state_->plans.tunings();
  }
  auto begin = std::chrono::steady_clock::now();
  return std::ranges::all_of(tunings, [&](const auto& tuning) {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return tuning->wait(seconds - spent.count());
  });
}

}  // namespace tilewright
