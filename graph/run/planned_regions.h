// The regions of a plan with the programs that they become, before anything is compiled: what plans
// of a few sizes interpolate of another (graph/sizes/interpolated.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "graph/lower/lowering.h"
#include "graph/run/plan.h"
#include "graph/sizes/numbers.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

// As LoweredProgram, of a program that other plans have too.
struct PlannedProgram {
  std::shared_ptr<const ir::Function> function;
  Hash key;  // of its content
  Grid grid;
  std::vector<std::uint32_t> memory;
  std::vector<std::int64_t> sizes;
};
struct PlannedPrograms {
  std::string kind;
  std::vector<Scratch> scratch;
  std::vector<PlannedProgram> programs;
  // Set for a lowering that launches programs again (Lowering::relaunch), with the facts that
  // decided them and the sizes that follow from the launch.
  bool is_relaunched = false;
  Hash decided;
  std::vector<std::size_t> relaunched_sizes;
};
struct PlannedRegions {
  FusedTasks tasks;
  // The programs that each region becomes: regions of one key become the same ones.
  std::vector<std::uint32_t> becomes;
  std::vector<PlannedPrograms> programs;
};

void visit(NumberReader& visitor, const PlannedRegions& planned);
void visit(NumberWriter& visitor, PlannedRegions& planned);

Hash key_of(const PlannedRegions& planned);  // of all regions in their order

// True if the options leave all block sizes to the lowerings of a host, other sizes are planned
// too, and no region calls C++. (Programs for GPUs are for one size each.)
bool may_interpolate_regions(const Graph& graph, const PlanOptions& options);
// Sets `is_interpolated` where the regions, or the tasks at least, were not made afresh.
PlannedRegions planned_regions(const Graph& graph, const PlanOptions& options,
                               bool& is_interpolated);

}  // namespace tilewright::graph
