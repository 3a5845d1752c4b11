#include "tools/commands/tune_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autotune/measure/decision.h"
#include "autotune/policy.h"
#include "autotune/space/random.h"
#include "graph/tune/region_tuner.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

struct Check {
  std::string kernel, preferred, chosen;  // configurations
  double preferred_seconds = 0, chosen_seconds = 0;
  autotune::Comparison comparison;
  bool is_kept = false, is_slower = false;
  std::string failure;
};

bool is_slower(const autotune::Comparison& c) { return c.ratio > 1 + c.margin; }

const char* verdict_of(const Check& check) {
  if (!check.failure.empty()) return "failed";
  if (check.is_slower) return "slower";
  if (check.is_kept) return "default";
  return check.comparison.is_faster() ? "faster" : "equal";
}

class Checker {
 public:
  Checker(const Device& device, const CheckSettings& settings)
      : device_(device), settings_(settings) {}

  // Nothing where the database does not know the region.
  std::optional<Check> check(const std::string& kernel, const graph::TaskList& list,
                             const graph::Region& region) {
    graph::RegionSpace space = graph::region_space(list, region, device_.target());
    auto rows = autotune::shared_tuning_database().rows(graph::tuning_key(list, region, device_));
    if (rows.empty()) return {};
    autotune::Point chosen = autotune::choice_of(space.space, space.preferred, rows);
    Check result{kernel, space.space.text(space.preferred), space.space.text(chosen)};
    result.is_kept = chosen == space.preferred;
    graph::RegionTrial trial(list, region, device_);
    const graph::RegionCandidate candidates[] = {trial.compile(space.blocks_of(space.preferred)),
                                                 trial.compile(space.blocks_of(chosen))};
    for (const graph::RegionCandidate& candidate : candidates)
      if (candidate.failure && result.failure.empty()) result.failure = candidate.failure.reason;
    if (!result.failure.empty()) return result;
    auto time = [&] {
      autotune::Rounds rounds{settings_.rounds};
      rounds.always = 2;
      auto timings = autotune::time_interleaved(
          2, [&](std::size_t i) { return trial.seconds(candidates[i], settings_.sample_seconds); },
          rounds, random_);
      result.preferred_seconds = timings[0].seconds();
      result.chosen_seconds = timings[1].seconds();
      result.comparison = autotune::compare(timings[1], timings[0]);
    };
    time();
    if (is_slower(result.comparison)) {
      time();
      result.is_slower = is_slower(result.comparison);
    }
    return result;
  }

 private:
  Device device_;
  const CheckSettings& settings_;
  autotune::Random random_{1};
};

nlohmann::json as_json(const Check& check) {
  return {{"kernel", check.kernel},
          {"default", check.preferred},
          {"chosen", check.chosen},
          {"default_seconds", check.preferred_seconds},
          {"chosen_seconds", check.chosen_seconds},
          {"ratio", check.comparison.ratio},
          {"margin", check.comparison.margin},
          {"verdict", verdict_of(check)}};
}

void print(const std::vector<Check>& checks) {
  Table table({"kernel", "default", "chosen", "ratio", "noise", "verdict", "configuration"});
  for (const Check& check : checks)
    table.add({check.kernel, duration_text(check.preferred_seconds),
               duration_text(check.chosen_seconds), fmt::format("{:.3f}", check.comparison.ratio),
               fmt::format("{:.1f}%", check.comparison.margin * 100), verdict_of(check),
               check.failure.empty() ? check.chosen : check.failure});
  fmt::print("{}", table.text());
}

}  // namespace

bool check_choices(const std::vector<NamedKernel>& kernels, const Device& device,
                   const CheckSettings& settings) {
  std::vector<Check> checks;
  Checker checker(device, settings);
  for (const NamedKernel& kernel : kernels)
    each_region(kernel, device, [&](const auto& list, const auto& region) {
      if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{}\x1b[K", kernel.name);
      if (auto check = checker.check(kernel.name, list, region))
        checks.push_back(std::move(*check));
    });
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
  require(!checks.empty(), "[tune] the tuning database knows none of ", kernels.size(),
          " kernels; `tilewright tune --keep` measures and stores them");
  auto count = [&](std::string_view verdict) {
    return std::ranges::count(checks, verdict, verdict_of);
  };
  auto bad = count("slower") + count("failed");
  if (!settings.json) {
    print(checks);
    fmt::print("{} regions: {} faster, {} equal, {} kept by default, {} slower, {} failed\n",
               checks.size(), count("faster"), count("equal"), count("default"), count("slower"),
               count("failed"));
    return bad == 0;
  }
  nlohmann::json all = nlohmann::json::array();
  for (const Check& check : checks) all.push_back(as_json(check));
  nlohmann::json counts;
  for (const char* verdict : {"faster", "equal", "default", "slower", "failed"})
    counts[verdict] = count(verdict);
  nlohmann::json whole = {{"command", settings.command},
                          {"device", device.target().is_gpu() ? device.text() : cpu_model()},
                          {"threads", thread_count()},
                          {"date", date_today()},
                          {"rounds", settings.rounds},
                          {"counts", counts},
                          {"results", all}};
  fmt::print("{}\n", whole.dump(2));
  return bad == 0;
}

}  // namespace tilewright::tools
