// Running control flow: plans of the bodies, made once, which a call of the host runs as often as
// it must.
//
// A loop is one step of the plan around it. Carried values lie in two buffers in turn, sliced
// values are read and written in place, and nothing is planned or looked up between two turns. A
// condition is read by the host: on a GPU each turn of a while loop waits for it, and a choice
// waits once. Apart from make_plan.cpp, which knows a call of the host and not its work.
#pragma once

#include <source_location>
#include <vector>

#include "graph/regions/region.h"
#include "graph/run/plan.h"

namespace tilewright::graph {

// A packed copy of what an operand reads, as a body of the node multiplies it.
struct PackedOperand {
  std::size_t operand = 0;
  PackedWeight weight;  // its matrix counts from the first element of the operand's storage
  bool operator==(const PackedOperand&) const = default;
};

struct ControlFlowCall {
  // Takes the region's storages (storages_of), then those of `packed`, a pointer each. Thread safe.
  HostCall call;
  std::vector<PackedOperand> packed;
};

bool is_control_flow(const TaskList& list, const Region& region);
// `where` is the line of the node, for reports.
ControlFlowCall control_flow_call(const TaskList& list, const Region& region,
                                  const PlanOptions& options, std::source_location where);

}  // namespace tilewright::graph
