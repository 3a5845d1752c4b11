// Choosing block sizes by the clock.
//
// Candidates run on memory made for the purpose, in turns, so that a slow moment of the machine
// hits all of them alike. The default is kept unless another is faster by more than the noise.
#pragma once

#include "dsl/device.h"
#include "graph/lower/lower.h"

namespace tilewright::graph {

// The region's lowering that runs fastest on the device, of the one with the block sizes `wanted`
// and the alternatives to it.
LoweredRegion tune(const Graph& graph, const TaskList& list, const Region& region,
                   const Device& device, const BlockSizes& wanted);

}  // namespace tilewright::graph
