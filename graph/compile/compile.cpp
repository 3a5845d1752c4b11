#include "graph/compile/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <span>

#include "graph/compile/call_gate.h"
#include "graph/compile/compiled.h"
#include "graph/compile/marks/mark_scope.h"
#include "graph/compile/options/resolved_options.h"
#include "graph/compile/padded_calls.h"
#include "graph/compile/sizes/declared_sizes.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"

namespace tilewright {
namespace {

using graph::Call;
using graph::CompiledSignature;
using graph::Signature;

struct Entry {
  std::unique_ptr<CompiledSignature> signature;
  std::uint64_t used = 0;   // the call that used it last
  bool sizes_vary = false;  // it is one of several that differ in sizes alone
  graph::SignatureSizes sizes = {};
};
constexpr std::size_t most_recompilations = 64;  // that are kept
constexpr std::size_t most_named = 3;            // signatures, of those that are compiled

bool are_sizes_alone(const std::vector<Difference>& differences) {
  return !differences.empty() && std::ranges::all_of(differences, [](const Difference& one) {
    return one.reason == RecompileReason::size;
  });
}

void log_compiled(const CompiledSignature& compiled, const std::string& signature) {
  std::string guards = compiled.guards_text();
  if (!guards.empty() && is_logged(graph::LogTopic::guards))
    graph::log_line(concat("[compile] guards of (", signature, "):\n", guards));
  if (is_logged(graph::LogTopic::fusion))
    graph::log_line(concat("[compile] ", explain(compiled.report())));
}

}  // namespace

struct CompiledFunction::State {
  TensorFunction function;
  Options options;
  graph::ResolvedOptions resolved;  // what they come to
  graph::CallGate gate;             // of all below; who is in it owns the state
  graph::SharedSteps shared;
  std::vector<Entry> entries;
  std::size_t latest = 0;  // that a call matched
  std::uint64_t calls = 0;
  std::uint64_t changes = 0, guarded_changes = 0;  // when they were looked at
  std::vector<Recompilation> recompilations;
  graph::DeclaredSizes declared;
  graph::PaddedCalls paddings;
  bool has_said_limit = false;

  std::function<void(const Device&)> move;  // of what the function holds; none: nothing
  std::string region;  // that it is inside other functions; empty: a part of what is around

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
  CompiledSignature* signature_for(const Call& call, graph::LoggedValues& logged);
  void look_at_changes();
  CompiledSignature* find(const Call& call);
  void look_at_sizes(const Call& call, bool is_known);
  const graph::PaddedCalls::Known* padding_of(const Call& call, std::vector<Tensor>& longer);
  std::vector<Difference> differences_from(const CompiledSignature& known, const Signature& call,
                                           const graph::ArgumentForm& form) const;
  CompiledSignature* compile_anew(const Call& call, std::size_t at,
                                  std::vector<Difference> differences, bool sizes_vary,
                                  graph::LoggedValues& logged);
  std::size_t least_recent(bool sizes_vary) const;
  graph::ResolvedOptions options_of_latest() const {
    return entries[latest].sizes_vary ? graph::for_sizes_that_vary(resolved) : resolved;
  }
  bool is_full() const {  // of signatures
    return std::ranges::count(entries, false, &Entry::sizes_vary) >= options.max_signatures;
  }
  std::optional<bool> sizes_change(const Call& call) const;
  bool makes_plan_for_many_sizes(const Call& call, const std::vector<Difference>& why) const;
  bool may_compile(const Call& call, const std::vector<Difference>& differences) const;
  std::optional<std::size_t> place_for(const Call& call, bool sizes_vary);
  std::vector<Difference> nearest(const Call& call) const;
  std::string text_of(const Call& call) const {
    return to_string(graph::signature_of(call.arguments, options.device));
  }
  [[noreturn]] void raise_too_many(const Call& call) const;
};

void CompiledFunction::State::look_at_changes() {
  std::uint64_t now = graph::handle_changes().count();
  if (now != changes) [[unlikely]] {
    changes = now;
    for (Entry& entry : entries) entry.signature->look_at_changes();
  }
  now = graph::guarded_changes();
  if (now != guarded_changes) [[unlikely]] {
    guarded_changes = now;
    for (Entry& entry : entries) entry.signature->look_at_guards();
  }
}

CompiledSignature* CompiledFunction::State::find(const Call& call) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::size_t at = (latest + i) % entries.size();
    CompiledSignature& signature = *entries[at].signature;
    if (!signature.guards_hold() || signature.form().key != call.form ||
        !matches(signature.signature(), call.arguments))
      continue;
    latest = at;
    return &signature;
  }
  return nullptr;
}

// Takes over what the call's tensors are marked with. Raises `Error` for a size that is none of
// those declared.
void CompiledFunction::State::look_at_sizes(const Call& call, bool is_known) {
  if (declared.knows(call.arguments, is_known ? entries[latest].sizes : graph::SignatureSizes()))
      [[likely]]
    return;
  const std::vector<std::string> names = graph::names_of(call.describe());
  declared.take_all(names, call.arguments);
  graph::SignatureSizes looked_at = declared.looked_at(names, call.arguments);
  if (is_known) entries[latest].sizes = std::move(looked_at);
}

// Where there are more tensors or fewer, as in a longer list, they are not compared one by one.
std::vector<Difference> CompiledFunction::State::differences_from(
    const CompiledSignature& known, const Signature& call, const graph::ArgumentForm& form) const {
  std::vector<Difference> result = differences(known.form(), form);
  if (result.empty() || known.signature().size() == call.size())
    std::ranges::move(differences(known.signature(), call, form.places, declared),
                      std::back_inserter(result));
  std::ranges::move(known.differences_of_guards(), std::back_inserter(result));
  return result;
}

// What the call has that the nearest compiled signature has not: one that differs in sizes alone,
// or that with the fewest differences.
std::vector<Difference> CompiledFunction::State::nearest(const Call& call) const {
  std::vector<Difference> nearest;
  const Signature signature = graph::signature_of(call.arguments, options.device);
  const graph::ArgumentForm form = call.describe();
  auto distance = [](const std::vector<Difference>& differences) {
    return std::pair(!are_sizes_alone(differences), differences.size());
  };
  for (const Entry& entry : entries) {
    std::vector<Difference> those = differences_from(*entry.signature, signature, form);
    if (nearest.empty() || distance(those) < distance(nearest)) nearest = std::move(those);
  }
  return nearest;
}

// The signature of the call, compiled where it is new or a handle stands for something else; null:
// the call is to run op by op.
CompiledSignature* CompiledFunction::State::signature_for(const Call& call,
                                                          graph::LoggedValues& logged) {
  look_at_changes();
  CompiledSignature* known = find(call);
  look_at_sizes(call, known != nullptr);
  if (known != nullptr &&
      (!known->is_doubtful() || known->rebind(call, options_of_latest(), logged))) [[likely]]
    return known;
  std::vector<Difference> why;
  if (known != nullptr)
    why = {{.reason = RecompileReason::handle,
            .found =
                "a tensor or a value that the function uses stands for something else now, and "
                "with it the function computes something else"}};
  else
    why = nearest(call);
  if (!may_compile(call, why)) return nullptr;
  if (known != nullptr)
    return compile_anew(call, latest, std::move(why), entries[latest].sizes_vary, logged);
  const bool sizes_vary = makes_plan_for_many_sizes(call, why);
  std::optional<std::size_t> place = place_for(call, sizes_vary);
  return place ? compile_anew(call, *place, std::move(why), sizes_vary, logged) : nullptr;
}

// Whether an axis has one element, or none, in the call alone.
static bool is_of_one(const Call& call, const Signature& known) {
  for (std::size_t i = 0; i < known.size() && i < call.arguments.size(); ++i) {
    const Shape &now = call.arguments[i].shape(), &before = known[i].shape;
    for (int axis = 0; axis < now.rank() && axis < before.rank(); ++axis)
      if (now[axis] <= 1 && before[axis] > 1) return true;
  }
  return false;
}

// Whether there are calls of other sizes, as far as that is declared: one axis decides that there
// are, and all together that there are not.
std::optional<bool> CompiledFunction::State::sizes_change(const Call& call) const {
  if (declared.empty()) return std::nullopt;
  bool all_stay = true;
  const std::vector<std::string> names = graph::names_of(call.describe());
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::optional<bool> change = declared.change(names[i], call.arguments[i].shape());
    if (change == true) return true;
    all_stay = all_stay && change == false;
  }
  return all_stay ? std::optional(false) : std::nullopt;
}

// Whether the call's plan shares its programs with those of other sizes: as was declared, or else
// as the options say. As long as there is place it does not where the clock chooses blocks, on
// GPUs, whose programs are for one size, and for one row, as of a step of decoding after a prompt.
bool CompiledFunction::State::makes_plan_for_many_sizes(const Call& call,
                                                        const std::vector<Difference>& why) const {
  if (std::optional<bool> change = sizes_change(call)) return *change;
  if (options.dynamic != Dynamic::automatic) return options.dynamic == Dynamic::always;
  if (!are_sizes_alone(why)) return false;
  const bool is_for_one = resolved.plan.tune || resolved.plan.device.target().is_gpu() ||
                          std::ranges::all_of(entries, [&](const Entry& entry) {
                            return is_of_one(call, entry.signature->signature());
                          });
  return !is_for_one || is_full();
}

// Whether the process's stance has the call compiled; a size that was declared is no reason not to.
bool CompiledFunction::State::may_compile(const Call& call,
                                          const std::vector<Difference>& differences) const {
  const Stance now = stance();
  const bool is_declared =
      !differences.empty() && std::ranges::all_of(differences, &Difference::is_declared);
  if (now == Stance::compile || is_declared) return true;
  if (now == Stance::eager_then_compile) return calls > 1;
  require(now != Stance::fail_on_recompile,
          "[compile] the stance is fail_on_recompile, and no "
          "plan fits the call (",
          text_of(call), "): ",
          differences.empty() ? "the function was not compiled before"
                              : Recompilation{.differences = differences}.sentence(),
          "; make this call once before the stance is set");
  return false;
}

// Where the plan of one more signature goes; none: the call runs op by op.
std::optional<std::size_t> CompiledFunction::State::place_for(const Call& call, bool sizes_vary) {
  if (sizes_vary) {
    const bool has_place =
        std::ranges::count(entries, true, &Entry::sizes_vary) < options.max_sizes;
    return has_place ? entries.size() : least_recent(true);
  }
  if (!is_full()) return entries.size();
  switch (options.past_limit) {
    case PastLimit::error: raise_too_many(call);
    case PastLimit::replace_oldest: return least_recent(false);
    case PastLimit::eager:
      if (!has_said_limit)
        graph::log_line(concat("[compile] ", entries.size(),
                               " signatures are compiled, which is the "
                               "limit: calls of others, as of (",
                               text_of(call), "), run op by op, as Options::past_limit says"));
      has_said_limit = true;
  }
  return std::nullopt;
}

std::size_t CompiledFunction::State::least_recent(bool sizes_vary) const {
  auto time_of = [&](const Entry& entry) {
    return entry.sizes_vary == sizes_vary ? entry.used : std::numeric_limits<std::uint64_t>::max();
  };
  return static_cast<std::size_t>(std::ranges::min_element(entries, {}, time_of) - entries.begin());
}

CompiledSignature* CompiledFunction::State::compile_anew(const Call& call, std::size_t at,
                                                         std::vector<Difference> differences,
                                                         bool sizes_vary,
                                                         graph::LoggedValues& logged) {
  auto begin = std::chrono::steady_clock::now();
  auto made = std::make_unique<CompiledSignature>(
      call, sizes_vary ? graph::for_sizes_that_vary(resolved) : resolved, shared, logged);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (at == entries.size()) entries.emplace_back();
  entries[at] = {std::move(made), calls, sizes_vary};
  latest = at;
  std::string signature = to_string(entries[at].signature->signature());
  if (!differences.empty()) {
    if (recompilations.size() == most_recompilations) recompilations.erase(recompilations.begin());
    recompilations.push_back({signature, std::move(differences), seconds.count()});
    if (is_logged(graph::LogTopic::recompiles))
      graph::log_line(
          concat("[compile] recompiled for (", signature, "): ", recompilations.back().sentence()));
  }
  log_compiled(*entries[at].signature, signature);
  return entries[at].signature.get();
}

void CompiledFunction::State::raise_too_many(const Call& call) const {
  const Signature signature = graph::signature_of(call.arguments, options.device);
  const graph::ArgumentForm form = call.describe();
  std::string text = concat("[compile] ", options.max_signatures,
                            " signatures are compiled, which is the limit; this call, (",
                            to_string(signature), "), is another one:");
  bool is_of_sizes = false;  // that Dynamic::never has compiled one by one
  std::size_t named = 0, others = 0;
  for (const Entry& known : entries) {
    if (known.sizes_vary) continue;
    std::vector<Difference> those = differences_from(*known.signature, signature, form);
    is_of_sizes = is_of_sizes || are_sizes_alone(those);
    if (named == most_named && ++others > 0) continue;
    ++named;
    text += concat("\n  (", to_string(known.signature->signature()),
                   "): ", Recompilation{.differences = std::move(those)}.sentence());
  }
  if (others > 0) text += concat("\n  and ", others, " more");
  raise_error(concat(text, "\npass arguments of the same dtypes, shapes and strides, ",
                     is_of_sizes ? "declare sizes that change with mark_dynamic, " : "",
                     "raise Options::max_signatures, or choose another Options::past_limit."));
}

CompiledFunction::CompiledFunction(TensorFunction function, Options options)
    : state_(new State, State::end) {
  detail::require_function(function);
  state_->resolved = graph::resolve(options);
  state_->function = std::move(function);
  state_->options = std::move(options);
}

const Options& CompiledFunction::options() const { return state_->options; }

void CompiledFunction::on_move(std::function<void(const Device&)> move) {
  state_->move = std::move(move);
}

void CompiledFunction::move_to(const Device& device) {
  GatedLock lock(*state_);
  if (state_->move) state_->move(device);
  state_->options.device = device;
  state_->resolved = graph::resolve(state_->options);
  state_->entries.clear();
  state_->shared.segments.clear();
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
  for (; calls > 0; --calls) state_->call(arguments, 1, true);
}

TensorResults CompiledFunction::State::call(const std::vector<Tensor>& arguments,
                                            std::int64_t times, bool is_measured) {
  static const std::string no_form;
  const std::function<graph::ArgumentForm()> describe = [&] {
    return graph::form_of_tensors(arguments.size(), options.argument_names);
  };
  return call({function, arguments, no_form, describe}, times, is_measured);
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

TensorResults CompiledFunction::State::run(const Call& call, std::int64_t times, bool is_measured,
                                           graph::LoggedValues& logged) {
  // Inside a capture the function is part of what is being captured.
  graph::MarkScope mark(region);
  if (!resolved.is_captured || graph::Capture::active() || stance() == Stance::force_eager)
    return graph::call_one_by_one(call, times);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const Tensor& argument = call.arguments[i];
    if (!argument.defined() || argument.is_symbolic()) [[unlikely]]
      raise_error(
          concat("[compile] ", call.describe().places.at(i).text, graph::flaw_of(argument)));
    require_current(argument.body()->token, "compile", std::nullopt);
  }
  TensorFunction alone;
  {
    GatedLock lock(*this);
    ++calls;
    std::vector<Tensor> longer;
    const graph::PaddedCalls::Known* padding = padding_of(call, longer);
    const Call given{call.function, padding ? longer : call.arguments, call.form, call.describe};
    if (CompiledSignature* signature = signature_for(given, logged)) {
      entries[latest].used = calls;
      if (options.verify_capture > 0 &&
          calls % static_cast<std::uint64_t>(options.verify_capture) == 0)
        signature->verify_capture(call.function);
      TensorResults results = signature->call(given, times, is_measured, logged);
      if (padding) graph::cut(results.tensors, padding->results);
      return results;
    }
    alone = call.function;
  }
  // Op by op, and outside of the lock: the function is the user's, and the state may be gone.
  return graph::call_one_by_one({alone, call.arguments, call.form, call.describe}, times);
}

// Pads the call's arguments where buckets were declared and that changes no result; null: it is
// what it is.
const graph::PaddedCalls::Known* CompiledFunction::State::padding_of(const Call& call,
                                                                     std::vector<Tensor>& longer) {
  const graph::PaddedCalls::Known* known =
      paddings.known(call, declared, options.device, static_cast<std::size_t>(options.max_sizes));
  const std::string obstacle = paddings.take_obstacle();
  if (!obstacle.empty() && options.tell_breaks) [[unlikely]]
    graph::log_line(
        concat("[compile] a call is not padded, and compiled for its own size, ", obstacle));
  if (known != nullptr) longer = graph::padded(call.arguments, known->arguments);
  return known;
}

void CompiledFunction::mark_as_region(std::string name) {
  require(!name.empty(), "[region] the name is empty; give the one that reports should show");
  state_->region = std::move(name);
}

std::vector<Recompilation> CompiledFunction::recompilations() const {
  GatedLock lock(*state_);
  return state_->recompilations;
}

std::vector<PlanReport> CompiledFunction::report() const {
  GatedLock lock(*state_);
  std::vector<PlanReport> reports;
  for (const auto& entry : state_->entries) {
    reports.push_back(entry.signature->report());
    reports.back().sizes_vary = entry.sizes_vary;
    reports.back().sizes = sizes_text(state_->declared, *entry.signature);
    std::string padding = state_->paddings.text(entry.signature->signature());
    if (!padding.empty()) reports.back().sizes += concat("    ", padding, "\n");
  }
  graph::count_plans_of_programs(reports);
  std::ranges::move(state_->shared.segments.report(), std::back_inserter(reports));
  return reports;
}

std::string CompiledFunction::dump() const {
  GatedLock lock(*state_);
  std::string text;
  for (const auto& entry : state_->entries) text += entry.signature->dump();
  return text + state_->shared.segments.dump();
}

bool CompiledFunction::wait_until_tuned(double seconds) const {
  std::vector<std::shared_ptr<const graph::BackgroundPlan>> tunings;
  {
    GatedLock lock(*state_);
    tunings = state_->shared.segments.tunings();
    for (const auto& entry : state_->entries)
      if (auto tuning = entry.signature->tuning()) tunings.push_back(std::move(tuning));
  }
  auto begin = std::chrono::steady_clock::now();
  return std::ranges::all_of(tunings, [&](const auto& tuning) {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return tuning->wait(seconds - spent.count());
  });
}

}  // namespace tilewright
