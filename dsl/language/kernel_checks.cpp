// Launches with checks: which checks a kernel makes, the arguments that its program takes for them,
// and what it reports. The part of dsl/language/kernel.h that needs the code generator for them.
#include <algorithm>

#include "dsl/language/check_setting.h"
#include "dsl/language/kernel.h"
#include "dsl/language/kernel_state.h"
#include "dsl/launch/device.h"
#include "dsl/launch/launch.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

// Adds what a program with checks takes after its own arguments (dsl/passes/check_bounds.h); it
// writes its findings to the report.
void add_check_arguments(const BoundsChecks& checks, std::span<const LaunchArgument> of_params,
                         std::vector<Argument>& arguments, std::vector<std::int64_t>& report) {
  for (std::size_t param : checks.sized) {
    const LaunchArgument& memory = of_params[param];
    arguments.push_back({.integer = memory.knows_size() ? memory.size_bytes() : -1});
  }
  report.assign(std::max<std::size_t>(1, checks.sites.size() * BoundsSite::words), 0);
  arguments.push_back({.pointer = report.data()});
}

void add_assert_arguments(const AssertChecks& checks, std::vector<Argument>& arguments,
                          std::vector<std::int64_t>& report) {
  report.assign(checks.words, 0);
  arguments.push_back({.pointer = report.data()});
}

void require_inside(const BoundsChecks& checks, const Grid& grid,
                    std::span<const std::int64_t> found,
                    std::span<const LaunchArgument> of_params) {
  for (std::size_t i = 0; i < checks.sites.size(); ++i) {
    const std::int64_t* report = &found[i * BoundsSite::words];
    if (report[0] == 0) continue;
    const BoundsSite& site = checks.sites[i];
    const LaunchArgument& argument = of_params[site.param];
    const std::int64_t program = report[2], rows = program / grid.size[0];
    raise_error(concat(describe(site.where), ": [", site.operation, "] program (",
                       program % grid.size[0], ", ", rows % grid.size[1], ", ", rows / grid.size[1],
                       "): index ", report[1], " of ", checks.function.params[site.param].name,
                       " is outside: it has ", argument.size_bytes() / size_bytes(argument.dtype()),
                       " elements; mask elements outside"));
  }
}

}  // namespace

Check check_setting() {
  constexpr std::array<std::pair<std::string_view, Check>, 5> names{{{"", Check::none},
                                                                     {"none", Check::none},
                                                                     {"bounds", Check::bounds},
                                                                     {"asserts", Check::asserts},
                                                                     {"all", Check::all}}};
  std::string text = env::check();
  for (const auto& [name, check] : names)
    if (text == name) return check;
  raise_error(concat("[TILEWRIGHT_CHECK] unknown check \"", text,
                     "\"; known are none, bounds, asserts and all"));
}

Check Kernel::checks() const { return state_->check ? *state_->check : check_setting(); }

BoundLaunch Kernel::bind(LaunchArguments arguments, const Knobs& knobs) const {
  std::shared_ptr<const CompiledKernel> compiled =
      compiled_for(arguments, state_->device.value_or(default_device()), knobs);
  std::vector<LaunchArgument> of_params = without_constexprs(arguments);
  BoundLaunch launch{compiled->artifact, {}, {}};
  for (const LaunchArgument& argument : of_params) launch.arguments.push_back(argument.value());
  if (compiled->checks)
    add_check_arguments(*compiled->checks, of_params, launch.arguments, launch.report);
  if (compiled->asserts) add_assert_arguments(*compiled->asserts, launch.arguments, launch.asserts);
  return launch;
}

void Kernel::run_checked(const CompiledKernel& compiled, const Grid& grid,
                         std::span<const Argument> values,
                         std::span<const LaunchArgument> of_params) {
  std::vector<Argument> all(values.begin(), values.end());
  std::vector<std::int64_t> outside, asserts;
  if (compiled.checks) add_check_arguments(*compiled.checks, of_params, all, outside);
  if (compiled.asserts) add_assert_arguments(*compiled.asserts, all, asserts);
  launch_on(compiled.device, *compiled.artifact, grid, all.data());
  if (compiled.checks) require_inside(*compiled.checks, grid, outside, of_params);
  if (!compiled.asserts) return;
  if (auto broken = broken_assert(*compiled.asserts, asserts)) raise_error(*broken);
}

}  // namespace tilewright::dsl
