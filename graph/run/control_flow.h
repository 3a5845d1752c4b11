// Planning control flow: plans of the bodies, made once, which a call of the host runs as often as
// it must (runtime/plan/control_flow.h).
//
// A loop is one step of the plan around it. Apart from make_plan.cpp, which knows a call of the
// host and not its work.
#pragma once

#include <memory>
#include <source_location>
#include <vector>

#include "graph/regions/region.h"
#include "graph/run/plan.h"
#include "runtime/plan/control_flow.h"

namespace tilewright::graph {

// A packed copy of what an operand reads, as a body of the node multiplies it.
struct PackedOperand {
  std::size_t operand = 0;
  PackedWeight weight;  // its matrix counts from the first element of the operand's storage
  bool operator==(const PackedOperand&) const = default;
};

// The call of a node, with the plans that its bodies are the executables of.
struct PlannedControlFlow {
  std::shared_ptr<const ControlFlow> control;
  std::vector<std::shared_ptr<const Plan>> bodies;
  void operator()(const Grid&, const Argument* arguments) const {
    run_control_flow(*control, arguments);
  }
};

struct ControlFlowCall {
  // A PlannedControlFlow. Takes the region's storages (storages_of), then those of `packed`, a
  // pointer each. Thread safe.
  HostCall call;
  std::vector<PackedOperand> packed;
};

bool is_control_flow(const TaskList& list, const Region& region);
// `where` is the line of the node, for reports.
ControlFlowCall control_flow_call(const TaskList& list, const Region& region,
                                  const PlanOptions& options, std::source_location where);

}  // namespace tilewright::graph
