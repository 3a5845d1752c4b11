// Which block sizes the regions of a plan get by the clock, within one budget for all of them.
//
// Results in the database cost nothing. Each other region is timed once as it is, and gets a part
// of the budget in proportion to its part of a call's time, so that the important ones are tuned
// longest; a region with less than `least_share` of a call is left alone. The largest goes first,
// and the others share its unused part. graph/compile/plans/tuned_plan.h decides later whether a
// choice for single regions also holds in whole calls.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/lower/blocks/block_request.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

struct Graph;
struct Region;
struct TaskList;

struct PlanTuning {
  bool searches = true;       // otherwise only known results
  double seconds = 5;         // of searching, all regions together
  double least_share = 0.01;  // of a call's time
  std::stop_token stop = {};  // asked to, tuning ends by raising `Stopped` (region_trial.h)
};

// A distinct region, and how many a call has of it.
struct RegionUse {
  const Region* region;
  std::int64_t instances = 1;
};

// Distinct regions by the outcome of their tuning.
struct TuningReport {
  int known = 0;     // the database had measurements
  int searched = 0;  // measurements were made
  int small = 0;     // below the least share
  int left = 0;      // not looked at: nothing may be searched for, or the budget was spent
  int fixed = 0;     // there is nothing to choose
  double seconds = 0;
};

struct TunedRegions {
  std::vector<BlockSizes> asked;  // of each region; the lowering chooses sizes that are not named
  std::vector<double> seconds;    // of a call that each region takes by default; 0: not known
  TuningReport report;
};

// The timed choice for one distinct region of a plan.
struct RegionChoice {
  Hash region;         // its key (regions/region_key.h)
  BlockSizes blocks;   // others than by default
  double seconds = 0;  // of a call, by default; 0: not known
};

// The choices for all of them, so that a plan can be made again without new measurements.
struct TunedChoices {
  std::vector<RegionChoice> regions;  // those that take longest first
  TuningReport report;
};

// The policy is the environment's, the database that of the user (autotune/policy.h).
TunedRegions tune_regions(const TaskList& list, std::span<const RegionUse> regions,
                          const Device& device, const PlanTuning& tuning);

// The budget of each of several regions that take these seconds of a call that takes `call`: shares
// of the rest, for the largest first. None for those below the least share.
class BudgetShares {
 public:
  BudgetShares(std::vector<double> seconds, double call, const PlanTuning& tuning);
  // Regions in the order in which they are to be tuned.
  const std::vector<std::size_t>& order() const { return order_; }
  // The seconds for the next in order, after `spent` seconds of the budget.
  double next(double spent);

 private:
  std::vector<double> seconds_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
  double budget_, left_ = 0;  // seconds of a call of those that are not tuned yet
};

}  // namespace tilewright::graph
