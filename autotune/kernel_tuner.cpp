#include "autotune/kernel_tuner.h"

#include <algorithm>
#include <mutex>

#include "autotune/database/compiler_record.h"
#include "autotune/database/device_record.h"
#include "autotune/kernel_search.h"
#include "autotune/policy.h"
#include "dsl/device.h"
#include "dsl/ir/text.h"
#include "runtime/base/error.h"
#include "runtime/parallel.h"

namespace tilewright::autotune {
namespace {

using dsl::LaunchArgument;
using dsl::ParameterKind;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::int64_t KernelCall::operator[](std::string_view name) const {
  auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, number] : numbers_) names.push_back(known);
  raise_error(concat("[autotune] a call has no \"", name, "\"; it has: ", listed(names)));
}

struct TunedKernel::State {
  dsl::Kernel kernel;
  KernelTuning tuning;
  std::shared_ptr<TuningDatabase> own_database;
  Point preferred;
  std::mutex mutex;
  std::map<Hash, Point> chosen;  // by question and compiler; guarded by `mutex`

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
            "\" is no legal point of the space");
    s.preferred = *point;
  }
  std::optional<std::string> broken = s.tuning.space.broken_rule(s.preferred);
  require(!broken, "[", name, "] the default, ", s.tuning.space.text(s.preferred),
          ", breaks the rule \"", broken.value_or(""), "\"; name another as `preferred`");
}

KernelCall TunedKernel::call_of(const std::vector<LaunchArgument>& arguments,
                                const Point& point) const {
  const State& s = *state_;
  KernelCall call;
  std::size_t next = 0;
  for (std::size_t i = 0; i < s.kernel.parameter_names().size(); ++i) {
    if (s.kernel.parameter_kinds()[i] == ParameterKind::constexpr_number) continue;
    require(next < arguments.size(), "[", s.kernel.name(), "] there are ", arguments.size(),
            " arguments; one is missing for ", s.kernel.parameter_names()[i]);
    const LaunchArgument& argument = arguments[next++];
    if (argument.is_integer())
      call.numbers_[s.kernel.parameter_names()[i]] = argument.value().integer;
  }
  require(next == arguments.size(), "[", s.kernel.name(), "] there are ", arguments.size(),
          " arguments; the kernel takes ", next, " beside its Constexprs");
  Setting setting(s.tuning.space, point);
  for (const Knob& knob : s.tuning.space.knobs()) call.numbers_[knob.name] = setting[knob.name];
  for (const auto& [name, compute] : s.tuning.heuristics) call.numbers_[name] = compute(call);
  return call;
}

std::vector<LaunchArgument> TunedKernel::complete(const std::vector<LaunchArgument>& arguments,
                                                  const KernelCall& call) const {
  const State& s = *state_;
  std::vector<LaunchArgument> result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < s.kernel.parameter_names().size(); ++i)
    result.push_back(s.kernel.parameter_kinds()[i] == ParameterKind::constexpr_number
                         ? LaunchArgument(call[s.kernel.parameter_names()[i]])
                         : arguments[next++]);
  return result;
}

TuningKey TunedKernel::key_of(const std::vector<LaunchArgument>& arguments) const {
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

Point TunedKernel::point_for(const std::vector<LaunchArgument>& arguments) const {
  State& s = *state_;
  TunePolicy policy = tune_policy();
  if (policy == TunePolicy::off) return s.preferred;
  TuningKey key = key_of(arguments);
  // Held while tuning, so that threads that meet a question together answer it once.
  std::lock_guard lock(s.mutex);
  auto known = s.chosen.find(key.hash());
  if (known != s.chosen.end()) return known->second;
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
  if (policy == TunePolicy::on && lacks && points.size() > 1) {
    auto candidates = [&](const Point& point) {
      KernelCall call = call_of(arguments, point);
      return KernelCandidate{call, s.tuning.grid(call), complete(arguments, call)};
    };
    std::vector<Finding> findings =
        tune_kernel(s.kernel, s.tuning, space, s.preferred, candidates, std::move(history));
    std::vector<TuningRow> found = rows_of(key, space, s.preferred, findings);
    s.database().store(found);
    rows = s.database().rows(key);
  }
  return s.chosen[key.hash()] = choice_of(space, s.preferred, rows);
}

void TunedKernel::launch_with(const std::vector<LaunchArgument>& arguments) const {
  KernelCall call = call_of(arguments, point_for(arguments));
  state_->kernel.launch_with(state_->tuning.grid(call), complete(arguments, call));
}

std::string TunedKernel::configuration_for(const std::vector<LaunchArgument>& arguments) const {
  return state_->tuning.space.text(point_for(arguments));
}

}  // namespace tilewright::autotune
