// Which block sizes the regions of a plan get where the clock decides: those that the tuning
// database knows, or those that a search finds, which the database then knows.
#pragma once

#include "autotune/policy.h"
#include "graph/tune/tune_region.h"

namespace tilewright::graph {

// The question that tuning a region answers. Equal for equal regions of any model.
autotune::TuningKey tuning_key(const Graph& graph, const TaskList& list, const Region& region,
                               const Device& device);
class RegionTuner {
 public:
  // All must outlive the tuner.
  RegionTuner(const Graph& graph, const TaskList& list, const Device& device,
              autotune::TunePolicy policy, const TuneSettings& settings,
              autotune::TuningDatabase& database);
  // Sizes to ask the lowering for; none where they are the default's.
  BlockSizes choose(const Region& region);

 private:
  const Graph& graph_;
  const TaskList& list_;
  Device device_;
  autotune::TunePolicy policy_;
  TuneSettings settings_;
  autotune::TuningDatabase& database_;
};

}  // namespace tilewright::graph
