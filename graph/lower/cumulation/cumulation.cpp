// The lowering of regions in which each element joins those before it (Op::cumulate). Memory limits
// it, so there is nothing to tune.
#include <algorithm>

#include "dsl/ir/immediates.h"
#include "graph/lower/cumulation/cumulation_programs.h"
#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

CumulationSite::CumulationSite(const TaskList& list, const Region& region,
                               const dsl::Target& target)
    : list(list),
      region(region),
      target(target),
      task(list.tasks[region.tasks[0]]),
      kind(task.attributes.reduction),
      carried(accumulator(task.dtype)),
      shape(task) {}

Tile CumulationSite::join(const Operand& before, const Operand& after) const {
  return dsl::elementwise(ir::info(kind).combining_op, {before, after});
}

Tile CumulationSite::identity(const Shape& shape) const {
  return dsl::splat(dsl::constant(ir::identity(kind, carried)), shape);
}

Tile CumulationSite::widened(const Tile& element) const {
  return dsl::cast(dsl::cast(element, task.dtype), carried);
}

Chunks Chunks::of(std::int64_t size, std::int64_t most, std::int64_t quantum) {
  const std::int64_t quanta = divide_up(size, quantum),
                     count = std::clamp<std::int64_t>(most, 1, quanta);
  const std::int64_t length = divide_up(quanta, count) * quantum;
  return {divide_up(size, length), length};
}

namespace {

bool is_cumulation(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::cumulate;
}

LoweredRegion lower_cumulation(const TaskList& list, const Region& region,
                               const dsl::Target& target, const BlockSizes&) {
  CumulationSite site(list, region, target);
  return target.is_gpu() ? gpu_cumulation(site) : host_cumulation(site);
}

void describe_cumulation(const TaskList& list, const Region& region, autotune::Record& problem) {
  CumulationShape shape(list.tasks[region.tasks[0]]);
  problem.set("rows", std::to_string(shape.rows));
  problem.set("elements", std::to_string(shape.along.size));
  problem.set("columns", std::to_string(shape.columns.size));
}

}  // namespace

constinit const Lowering lowerings::cumulation = {.name = "cumulation",
                                                  .matches = is_cumulation,
                                                  .lower = lower_cumulation,
                                                  .describe = describe_cumulation};

}  // namespace tilewright::graph
