#include "graph/run/plan_tasks.h"

#include <algorithm>

#include "dsl/target/packed_product.h"
#include "graph/lower/flat.h"
#include "graph/lower/packed_weights.h"
#include "graph/regions/reference/verify.h"
#include "graph/run/task_numbers.h"
#include "graph/sizes/graph_numbers.h"
#include "graph/sizes/interpolated.h"

namespace tilewright::graph {
namespace {

// The rows of a product's block up to which computing an operand beside it costs nothing.
constexpr std::int64_t few_rows_of_gpus = 64;
// They stay in a core's cache from one block of rows to the next, in bytes.
constexpr std::int64_t weights_in_place_of_hosts = 1 << 20;

// In release builds it would take up to a twenty-fifth of the time of a plan whose code is known.
#ifdef NDEBUG
constexpr bool verifies = false;
#else
constexpr bool verifies = true;
#endif

}  // namespace

FusedTasks fused_tasks(const Graph& graph, const PlanOptions& options) {
  FusedTasks result{make_tasks(graph, options.gives_written_inputs), {}};
  const bool is_gpu = options.device.target().is_gpu();
  if (options.matmul_precision == MatmulPrecision::high) {
    if (is_gpu) result.list.f32_products = ir::InputPrecision::tf32;
    result.list.transforms_rows = !is_gpu;
  }
  result.list.row_invariant = options.row_invariant && !is_gpu;
  for (Storage& storage : result.list.storages) {
    if (storage.input < 0 || storage.input >= std::ssize(options.inputs)) continue;
    const InputMemory& memory = options.inputs[static_cast<std::size_t>(storage.input)];
    storage.is_aligned = memory.is_aligned;
    storage.is_frozen = memory.is_frozen;
  }
  if (verifies) verify(result.list);
  RegionLimits limits;
  limits.rows_of_computed_operands = is_gpu ? few_rows_of_gpus : dsl::PackedProduct::least_rows - 1;
  limits.accumulations_compute_sources = !is_gpu;
  if (!is_gpu) limits.weights_in_place = weights_in_place_of_hosts;
  std::vector<MarkId> marks;
  if (!graph.marks.empty())
    for (const Task& task : result.list.tasks) marks.push_back(graph.node(task.node).origin.mark);
  std::vector<Purpose> purposes;
  const auto is_of_function = [](const Node& node) {
    return node.origin.purpose == Purpose::function;
  };
  if (!std::ranges::all_of(graph.nodes, is_of_function))
    for (const Task& task : result.list.tasks)
      purposes.push_back(graph.node(task.node).origin.purpose);
  result.regions = fuse_tasks(result.list, options.fuse, limits, marks, purposes);
  for (FusedRegion& fused : result.regions) fused.region.sizes_vary = options.sizes_vary;
  if (verifies) verify(result.list, result.regions);
  return result;
}

FusedTasks planned_tasks(const Graph& graph, const PlanOptions& options) {
  const dsl::Target target = options.device.target();
  FusedTasks tasks = fused_tasks(graph, options);
  use_packed_weights(tasks.list, tasks.regions, target);
  find_families(tasks.list, tasks.regions, target);
  return tasks;
}

void add_form(NumberReader& given, const PlanOptions& options) {
  given.form(options.device.target().hash());
  given.form(options.fuse);
  given.form(options.matmul_precision);
  given.form(options.row_invariant);
  given.form(options.gives_written_inputs);
  given.form(options.inputs.size());
  for (const auto& [is_aligned, is_frozen] : options.inputs) {
    given.form(is_aligned);
    given.form(is_frozen);
  }
}

FusedTasks planned_tasks(const Graph& graph, const PlanOptions& options, bool& is_interpolated) {
  is_interpolated = false;
  if (!options.sizes_vary || !is_made_of_numbers(graph)) return planned_tasks(graph, options);
  static InterpolatedValues<FusedTasks>& values =
      *new InterpolatedValues<FusedTasks>("tasks and regions");
  NumberReader given;
  add_form(given, options);
  visit(given, graph);
  return values.value_of(
      given, [&] { return planned_tasks(graph, options); }, is_interpolated);
}

}  // namespace tilewright::graph
