// The lowering of control flow, which has no program: the plan runs plans of its bodies
// (graph/run/control_flow.h). This file defines the place of these calls among the programs: a
// function that takes the operands and results, does nothing, and is never compiled.
#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

bool is_control(const TaskList& list, const Region& region) {
  const Task& task = list.tasks[region.tasks[0]];
  return task.is_opaque() && info(*task.op).kind == Kind::control;
}

LoweredRegion lower_control(const TaskList& list, const Region& region, const dsl::Target&,
                            const BlockSizes&) {
  const Task& task = list.tasks[region.tasks[0]];
  dsl::Tracer tracer(concat(info(*task.op).name, "_", region_key(list, region).hex()));
  LoweredProgram program{tracer.finish(), Grid(1), {}};
  const std::vector<StorageId> storages = storages_of(list, region);
  for (std::size_t i = 0; i < storages.size(); ++i)
    program.memory.push_back(static_cast<std::uint32_t>(i));
  LoweredRegion result;
  result.kind = info(*task.op).name;
  result.programs.push_back(std::move(program));
  return result;
}

}  // namespace

constinit const Lowering lowerings::control_flow = {
    .name = "control_flow", .matches = is_control, .lower = lower_control};

}  // namespace tilewright::graph
