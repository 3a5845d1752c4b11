#include "graph/tune/tune_plan.h"

#include <algorithm>
#include <numeric>

#include "graph/tune/region_tuner.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::graph {
namespace {

constexpr double measured_seconds = 1e-3;  // of a region as it is, at least
constexpr double least_budget = 0.02;      // seconds; less measures nothing

// Seconds a run by default. Where that cannot run, nothing matters more than what can.
double default_seconds(const TaskList& list, const Region& region, const Device& device,
                       const std::stop_token& stop) {
  try {
    RegionTrial trial(list, region, device, stop);
    RegionCandidate candidate = trial.compile({});
    if (candidate.failure) return 1;
    trial.seconds(candidate, 0);  // the first one pays for what is not in caches
    return trial.seconds(candidate, measured_seconds);
  } catch (const OutOfMemory&) {
    return 0;  // too large to be run beside what there is
  }
}

}  // namespace

BudgetShares::BudgetShares(std::vector<double> seconds, double call, const PlanTuning& tuning)
    : seconds_(std::move(seconds)), budget_(tuning.seconds) {
  for (std::size_t i = 0; i < seconds_.size(); ++i)
    if (seconds_[i] >= tuning.least_share * call) {
      order_.push_back(i);
      left_ += seconds_[i];
    }
  std::ranges::stable_sort(order_, std::greater{}, [&](std::size_t i) { return seconds_[i]; });
}

double BudgetShares::next(double spent) {
  double own = seconds_[order_[at_++]];
  double share = left_ > 0 ? std::min(1.0, own / left_) : 1;
  left_ -= own;
  return std::max(0.0, budget_ - spent) * share;
}

TunedRegions tune_regions(const TaskList& list, std::span<const RegionUse> regions,
                          const Device& device, const PlanTuning& tuning) {
  double begin = autotune::steady_seconds();
  autotune::TunePolicy policy = autotune::tune_policy();
  TunedRegions result{std::vector<BlockSizes>(regions.size()), std::vector<double>(regions.size())};
  if (policy == autotune::TunePolicy::off) return result;
  TuningReport& report = result.report;
  RegionTuner tuner(list, device, autotune::shared_tuning_database());

  std::vector<std::size_t> unknown, unmeasured;
  std::vector<double>& seconds = result.seconds;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    KnownRegion known = tuner.look_up(*regions[i].region);
    result.asked[i] = known.blocks;
    seconds[i] = known.default_seconds * static_cast<double>(regions[i].instances);
    report.known += known.has_choice && known.is_known;
    report.fixed += !known.has_choice;
    if (seconds[i] == 0) unmeasured.push_back(i);
    if (known.has_choice && !known.is_known) unknown.push_back(i);
  }
  report.left = static_cast<int>(unknown.size());
  if (unknown.empty() || !tuning.searches || policy != autotune::TunePolicy::on) return result;

  for (std::size_t i : unmeasured)
    seconds[i] = default_seconds(list, *regions[i].region, device, tuning.stop) *
                 static_cast<double>(regions[i].instances);
  std::vector<double> own;
  for (std::size_t i : unknown) own.push_back(seconds[i]);
  BudgetShares shares(own, std::accumulate(seconds.begin(), seconds.end(), 0.0), tuning);
  report.small = static_cast<int>(unknown.size() - shares.order().size());
  report.left = 0;
  double begin_search = autotune::steady_seconds();
  for (std::size_t at : shares.order()) {
    TuneSettings settings = brief_tuning();
    settings.budget.seconds = shares.next(autotune::steady_seconds() - begin_search);
    settings.stop = tuning.stop;
    if (settings.budget.seconds < least_budget) {
      ++report.left;
      continue;
    }
    std::size_t i = unknown[at];
    try {
      result.asked[i] = tuner.search(*regions[i].region, settings);
      ++report.searched;
    } catch (const OutOfMemory&) {
      ++report.left;
    }
  }
  report.seconds = autotune::steady_seconds() - begin;
  return result;
}

}  // namespace tilewright::graph
