// Tunes one region by itself: searches its space by the clock and decides by rounds.
//
// Candidates of a batch are compiled side by side and timed one after the other, in rounds in which
// the default takes part, so that batches measured at different moments can be compared. A
// candidate's result is compared with the default's before it may win.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "autotune/tuning.h"
#include "graph/tune/region_space.h"
#include "graph/tune/region_trial.h"

namespace tilewright::graph {

struct TuneSettings {
  std::string strategy = "model_guided";
  autotune::Budget budget = {32, 5.0};
  std::uint64_t seed = 1;
  int rounds = 5;                  // while searching
  double sample_seconds = 0.5e-3;  // of a candidate in a round, at least
  double least_seconds = 0;        // a region that takes less by default is left alone
  std::stop_token stop = {};       // asked to, the search ends by raising `Stopped`
};

// How compile() measures; how long is decided for all regions of a plan (tune_plan.h).
inline TuneSettings brief_tuning() {
  TuneSettings settings;
  settings.budget.trials = 64;
  settings.sample_seconds = 0.2e-3;
  settings.least_seconds = 2e-6;
  return settings;
}

struct RegionTuning : autotune::Tuning {
  RegionSpace space;
};

// `seeds` are measured first, and points in `known` never; `progress` gets each configuration as it
// was measured. The budget's seconds begin when this is called. Nothing is measured, and `ended`
// says so, where they are over before there is memory with something in it.
RegionTuning tune_region(const TaskList& list, const Region& region, const Device& device,
                         const TuneSettings& settings, std::vector<autotune::Point> seeds = {},
                         const autotune::TuningListener& progress = {},
                         autotune::History known = {});

}  // namespace tilewright::graph
