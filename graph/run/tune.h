// Choosing block sizes by the clock.
//
// Candidates run on memory made for the purpose, in turns, so that a slow moment of the machine
// hits all of them alike. The default is kept unless another is faster by more than the noise.
#pragma once

#include "dsl/device.h"
#include "graph/lower/lower.h"

namespace tilewright::graph {

// The lowering of the region that runs fastest, and its code; `artifact` is of `chosen`. Of regions
// that are one program, and stay one.
struct TunedRegion {
  LoweredRegion lowered;
  std::shared_ptr<const Artifact> artifact;
};
// Nothing where the default is as good as any.
std::optional<TunedRegion> tune(const Graph& graph, const TaskList& list, const Region& region,
                                const Device& device, const BlockSizes& chosen, const Grid& grid,
                                const std::shared_ptr<const Artifact>& artifact);

}  // namespace tilewright::graph
