#include "autotune/kernel_tuner.h"

#include <algorithm>
#include <mutex>

#include "autotune/database/row/compiler_record.h"
#include "autotune/database/row/device_record.h"
#include "autotune/kernel_search.h"
#include "autotune/policy.h"
#include "dsl/ir/function.h"
#include "dsl/ir/text/text.h"
#include "dsl/launch/device.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::autotune {
namespace {

using dsl::LaunchArgument;
using dsl::ParameterKind;

}  // namespace

struct TunedKernel::State {
  dsl::Kernel kernel;
  KernelTuning tuning;
  std::shared_ptr<TuningDatabase> own_database;
  Point preferred;
  std::shared_ptr<const KernelCall::Names> names;
  std::vector<std::size_t> key_places;  // of the scalars in the key, among the names
  std::mutex mutex;
  std::map<Question, Point> chosen;  // guarded by `mutex`

  TuningDatabase& database() { return own_database ? *own_database : shared_tuning_database(); }
  bool has(std::string_view name, ParameterKind kind) const {
    const std::vector<std::string>& names = kernel.parameter_names();
    auto at = std::ranges::find(names, name);
    return at != names.end() &&
           kernel.parameter_kinds()[static_cast<std::size_t>(at - names.begin())] == kind;
  }
};

TunedKernel::TunedKernel(dsl::Kernel kernel, KernelTuning tuning,
                         std::shared_ptr<TuningDatabase> database)
    : state_(std::make_shared<State>(std::move(kernel), std::move(tuning), std::move(database))) {
  State& s = *state_;
  const std::string& name = s.kernel.name();
  require(static_cast<bool>(s.tuning.grid), "[", name, "] tuning needs a grid function");
  for (std::size_t i = 0; i < s.kernel.parameter_names().size(); ++i) {
    if (s.kernel.parameter_kinds()[i] != ParameterKind::constexpr_number) continue;
    const std::string& parameter = s.kernel.parameter_names()[i];
    bool is_knob = std::ranges::count(s.tuning.space.knobs(), parameter, &Knob::name) > 0;
    bool is_computed = s.tuning.heuristics.contains(parameter);
    require(is_knob != is_computed, "[", name, "] the Constexpr ", parameter,
            is_knob ? " is both a knob and a heuristic; it must be one"
                    : " is neither a knob of the space nor a heuristic; the kernel must name its "
                      "parameters, and the space choose it");
  }
  for (const std::string& key : s.tuning.key)
    require(s.has(key, ParameterKind::scalar), "[", name, "] the key names \"", key,
            "\"; the kernel has no Scalar of that name, its parameters are: ",
            listed(s.kernel.parameter_names()));
  for (const std::string& reset : s.tuning.reset_to_zero)
    require(s.has(reset, ParameterKind::pointer), "[", name, "] reset_to_zero names \"", reset,
            "\"; the kernel has no Pointer of that name, its parameters are: ",
            listed(s.kernel.parameter_names()));
  s.preferred = Point(s.tuning.space.knobs().size(), 0);
  if (!s.tuning.preferred.empty()) {
    std::optional<Point> point = s.tuning.space.parse(s.tuning.preferred);
    require(point.has_value(), "[", name, "] the default \"", s.tuning.preferred,
            "\" is not a legal point of the space: ", s.tuning.space.problem(s.tuning.preferred));
    s.preferred = *point;
  }
  std::optional<std::string> broken = s.tuning.space.broken_rule(s.preferred);
  require(!broken, "[", name, "] the default, ", s.tuning.space.text(s.preferred),
          ", breaks the rule \"", broken.value_or(""), "\"; name another as `preferred`");
  KernelCall::Names names(s.kernel, s.tuning);
  for (const std::string& key : s.tuning.key) s.key_places.push_back(names.place(key));
  s.names = std::make_shared<const KernelCall::Names>(std::move(names));
}

KernelCall TunedKernel::call_of(Arguments arguments, const Point& point,
                                std::vector<bool>* read) const {
  const State& s = *state_;
  const std::vector<ParameterKind>& kinds = s.kernel.parameter_kinds();
  KernelCall call;
  call.names_ = s.names;
  call.numbers_.resize(s.names->all.size());
  call.read_ = read;
  std::size_t next = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == ParameterKind::constexpr_number) continue;
    require(next < arguments.size(), "[", s.kernel.name(), "] there are ", arguments.size(),
            " arguments; one is missing for ", s.kernel.parameter_names()[i]);
    const LaunchArgument& argument = arguments[next++];
    if (argument.is_integer()) call.numbers_[i] = argument.value().integer;
  }
  require(next == arguments.size(), "[", s.kernel.name(), "] there are ", arguments.size(),
          " arguments; the kernel takes ", next, " beside its Constexprs");
  const std::vector<Knob>& knobs = s.tuning.space.knobs();
  for (std::size_t i = 0; i < knobs.size(); ++i)
    call.numbers_[s.names->of_knobs[i]] =
        knobs[i].labels.empty() ? knobs[i].values[static_cast<std::size_t>(point[i])] : point[i];
  auto place = s.names->of_heuristics.begin();
  for (const auto& [name, compute] : s.tuning.heuristics) call.numbers_[*place++] = compute(call);
  return call;
}

std::vector<LaunchArgument> TunedKernel::complete(Arguments arguments,
                                                  const KernelCall& call) const {
  const std::vector<ParameterKind>& kinds = state_->kernel.parameter_kinds();
  std::vector<LaunchArgument> result;
  result.reserve(kinds.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    result.push_back(kinds[i] == ParameterKind::constexpr_number ? LaunchArgument(*call.numbers_[i])
                                                                 : arguments[next++]);
  return result;
}

// All that the answer depends on in this process: types, the key's numbers, and values computed by
// heuristics. It is cheap, unlike `key_of`, which other processes understand too and which traces
// the kernel.
TunedKernel::Question TunedKernel::question_of(Arguments arguments) const {
  const State& s = *state_;
  KernelCall call = call_of(arguments, s.preferred);
  std::vector<std::int64_t> numbers;
  numbers.reserve(arguments.size() + s.key_places.size() + s.names->of_heuristics.size());
  for (const LaunchArgument& argument : arguments)
    numbers.push_back(2 * static_cast<std::int64_t>(argument.dtype()) + argument.is_pointer());
  for (std::size_t place : s.key_places) numbers.push_back(call.numbers_[place].value_or(0));
  for (std::size_t place : s.names->of_heuristics) numbers.push_back(*call.numbers_[place]);
  return {std::move(numbers), default_device().text()};
}

TuningKey TunedKernel::key_of(Arguments arguments) const {
  const State& s = *state_;
  KernelCall call = call_of(arguments, s.preferred);
  TuningKey key;
  key.kernel = s.kernel.name();
  dsl::Signature signature;
  std::string types;
  for (const LaunchArgument& argument : complete(arguments, call)) {
    std::size_t i = signature.size();
    if (s.kernel.parameter_kinds()[i] == ParameterKind::constexpr_number) {
      signature.emplace_back(argument.value().integer);
      continue;
    }
    signature.emplace_back(argument.dtype());
    types += (types.empty() ? "" : ",") + std::string(tilewright::name_of(argument.dtype()));
  }
  // The program of the default stands for the kernel: another text is another kernel.
  key.kernel_hash = Hasher().add(ir::print(s.kernel.trace(signature))).finish();
  key.problem.set("types", types);
  for (const std::string& name : s.tuning.key) key.problem.set(name, call[name]);
  key.device = record_of(default_device());
  key.compiler = compiler_record();
  return key;
}

// A misspelt knob would double the search and change nothing.
void TunedKernel::require_used_knobs(Arguments arguments) const {
  const State& s = *state_;
  if (s.tuning.pre_hook || s.tuning.post_hook) return;  // which may ask for it when they run
  constexpr std::int64_t most_points = 64;
  std::vector<bool> read(s.names->all.size(), false);
  for (const Point& point : s.tuning.space.legal_points(most_points)) {
    KernelCall call = call_of(arguments, point, &read);
    if (s.tuning.keeps && !s.tuning.keeps(call)) continue;
    s.tuning.grid(call);
    if (s.tuning.estimate) s.tuning.estimate(call);
  }
  std::vector<std::string> constexprs;
  for (std::size_t i = 0; i < s.kernel.parameter_kinds().size(); ++i)
    if (s.kernel.parameter_kinds()[i] == ParameterKind::constexpr_number)
      constexprs.push_back(s.kernel.parameter_names()[i]);
  for (std::size_t i = 0; i < s.names->of_knobs.size(); ++i) {
    std::size_t place = s.names->of_knobs[i];
    bool is_constexpr = s.has(s.names->all[place], ParameterKind::constexpr_number);
    const bool is_of_launch = std::ranges::count(s.names->of_launch_knobs, place) != 0;
    require(is_constexpr || is_of_launch || read[place], "[", s.kernel.name(),
            "] nothing uses the knob ", s.names->all[place],
            ": neither grid, heuristics, keeps nor estimate ask for it, and the kernel has no "
            "Constexpr of that name; its Constexprs are: ",
            listed(constexprs));
  }
}

Point TunedKernel::point_for(Arguments arguments) const {
  State& s = *state_;
  TunePolicy policy = tune_policy();
  if (policy == TunePolicy::off) return s.preferred;
  Question question = question_of(arguments);
  // Held while tuning, so that threads that meet a question together answer it once.
  GatedLock lock(s.mutex);
  auto known = s.chosen.find(question);
  if (known != s.chosen.end()) return known->second;
  require_used_knobs(arguments);
  Point found = found_point(arguments, policy == TunePolicy::on);
  return s.chosen[std::move(question)] = std::move(found);
}

// The point from the database, after a search if the database knows too little and a search is
// allowed.
Point TunedKernel::found_point(Arguments arguments, bool may_search) const {
  State& s = *state_;
  TuningKey key = key_of(arguments);
  Space space = s.tuning.space;
  if (s.tuning.keeps)
    space.rule("the kernel keeps it", [&](const Setting& setting) {
      return s.tuning.keeps(call_of(arguments, setting.point()));
    });
  std::vector<TuningRow> rows = s.database().rows(key);
  History history;
  for (const TuningRow& row : rows)
    if (std::optional<Point> point = point_of(space, row.configuration))
      history.add(
          {*point, row.is_ok() ? row.median_ns() * 1e-9 : std::numeric_limits<double>::infinity()});
  // A small space is known when all of it is, a large one when it was searched.
  auto most = static_cast<std::int64_t>(s.tuning.budget.trials);
  std::vector<Point> points = space.legal_points(most + 1);
  bool is_small = static_cast<std::int64_t>(points.size()) <= most;
  bool lacks = is_small ? std::ranges::any_of(
                              points, [&](const Point& point) { return !history.knows(point); })
                        : !history.knows(s.preferred);
  if (may_search && lacks && points.size() > 1) {
    auto candidates = [&](const Point& point) {
      KernelCall call = call_of(arguments, point);
      return KernelCandidate{call, s.tuning.grid(call), complete(arguments, call), knobs_of(call)};
    };
    std::vector<Finding> findings =
        tune_kernel(s.kernel, s.tuning, space, s.preferred, candidates, std::move(history));
    std::vector<TuningRow> found = rows_of(key, space, s.preferred, findings);
    s.database().store(found);
    rows = s.database().rows(key);
  }
  return choice_of(space, s.preferred, rows);
}

void TunedKernel::launch_with(Arguments arguments) const {
  // Values that are recorded are not there to be tried.
  bool is_recorded = std::ranges::any_of(
      arguments, [](const LaunchArgument& argument) { return argument.record() != nullptr; });
  Point point = is_recorded ? found_point(arguments, false) : point_for(arguments);
  KernelCall call = call_of(arguments, point);
  // The line of the launch is not known, and this one says nothing.
  const dsl::LaunchGrid grid(state_->tuning.grid(call), std::source_location());
  state_->kernel.launch_with(grid, complete(arguments, call), knobs_of(call));
}

// Knobs of the space that are those of a launch rather than Constexprs.
dsl::Knobs TunedKernel::knobs_of(const KernelCall& call) const {
  dsl::Knobs knobs;
  for (std::size_t place : state_->names->of_launch_knobs)
    dsl::set_knob(knobs, state_->names->all[place], *call.numbers_[place]);
  return knobs;
}

std::string TunedKernel::configuration_for(const std::vector<LaunchArgument>& arguments) const {
  return state_->tuning.space.text(point_for(arguments));
}

}  // namespace tilewright::autotune
