// A custom op that is C++, as a call by a step of a plan.
//
// The function takes memory of the host. Where a plan's memory is a device's, operands are copied
// from there before a call, and results are copied back behind it: a wait for all work that was
// begun, and a way over the bus and back. A recording of launches cannot hold that.
#pragma once

#include "graph/regions/region.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

// True if the region is a custom op that is implemented by C++ on buffers.
bool is_buffers_call(const TaskList& list, const Region& region);
// For a region of which that is true. Arguments are those of the program that it is lowered to;
// `memory`: where they lie, null: the host's. Raises the errors of the user's function.
HostCall buffers_call(const TaskList& list, const Region& region, DeviceMemory* memory);

}  // namespace tilewright::graph
