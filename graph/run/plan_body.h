// The parts of a plan besides its executable: facts about its programs, for reports and tuning.
// Only code that makes plans or times them includes this.
#pragma once

#include <memory>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/launch/device.h"
#include "graph/run/plan_contents.h"
#include "graph/tune/tune_plan.h"
#include "runtime/base/hash.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

// An element of an input of the graph that decides how much there is to do, as the position in a
// cache says how many keys an attention sees (WorkElement in lower/lowering.h).
struct CachePosition {
  std::size_t input;  // index into Graph::inputs
  DType dtype;
  std::int64_t element;              // from the input's first one on
  std::vector<std::int64_t> values;  // that it has in turn where calls are timed
};

struct PlanBody {
  Device device;
  Executable executable;  // its kernels are the programs, in their order
  std::vector<PlanProgram> programs;
  std::vector<std::shared_ptr<const ir::Function>> functions;  // of each program
  std::vector<PackedWeight> packed_weights;                    // which follow the inputs
  std::vector<PlanOutput> outputs;
  bool is_interpolated = false;  // its tasks and regions, from plans of other sizes (plan_tasks.h)
  double lower_seconds = 0, compile_seconds = 0;
  TunedChoices choices;
  Hash key;  // of all regions in their order
  std::vector<MarkedRegion> marked_regions;
  std::vector<CachePosition> positions;
};

}  // namespace tilewright::graph
