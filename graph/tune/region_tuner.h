// Which block sizes a region gets where the clock decides: those that the tuning database knows, or
// those that a search finds, which the database then knows.
#pragma once

#include "autotune/policy.h"
#include "graph/tune/tune_region.h"

namespace tilewright::graph {

// The question that tuning a region answers. Equal for equal regions of any model.
autotune::TuningKey tuning_key(const TaskList& list, const Region& region, const Device& device);

struct KnownRegion {
  bool has_choice = false;     // more than one configuration
  bool is_known = false;       // some were measured by this build of the compiler
  BlockSizes blocks;           // to ask the lowering for; none where they are the default's
  double default_seconds = 0;  // as it was measured; 0: it was not
};

class RegionTuner {
 public:
  // All must outlive the tuner.
  RegionTuner(const TaskList& list, const Device& device, autotune::TuningDatabase& database);
  KnownRegion look_up(const Region& region);
  // Measures, whatever is known, and stores it. Sizes to ask the lowering for.
  BlockSizes search(const Region& region, TuneSettings settings);

 private:
  const TaskList& list_;
  Device device_;
  autotune::TuningDatabase& database_;
};

}  // namespace tilewright::graph
