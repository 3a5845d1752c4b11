// A custom op that is a kernel, as a call by a step of a plan where the kernel is checked while it
// runs (dsl::Check): it finds the same faults as a launch of its own.
//
// On the host, and for asserts, the kernel is launched on the memory of the operands and results,
// each of which is known by its size. On an emulated GPU the program of the plan runs, and may
// touch that memory alone, whether a check is asked for or not. GPUs check nothing.
#pragma once

#include <source_location>

#include "dsl/ir/function.h"
#include "dsl/launch/device.h"
#include "graph/regions/region.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

// True if the region is a kernel that is checked on this device.
bool is_checked_kernel(const TaskList& list, const Region& region, const Device& device);
// For a region of which that is true. Arguments are those of `program`, which the region was
// lowered to with the configuration of that number; `where` the op was called. The call raises
// `Error` as Kernel::launch does.
HostCall checked_kernel_call(const TaskList& list, const Region& region, const Device& device,
                             const ir::Function& program, std::int64_t configuration,
                             std::source_location where);

}  // namespace tilewright::graph
