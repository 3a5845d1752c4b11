#include "graph/compile/plans/bound_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "dsl/launch/full_code.h"
#include "graph/ir/text.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_body.h"
#include "graph/run/plan_tasks.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tune/plan_lock.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {

// Runs on the host that time their launches: the first one finds nothing in caches.
constexpr std::int64_t timed_runs = 4;

static Device device_for(const CompiledFor& tensors, const Device& otherwise) {
  DeviceMemory* memory = nullptr;
  auto look_at = [&](const Tensor& tensor, const char* what, std::size_t i) {
    DeviceMemory* own = memory_of(tensor);
    if (own == nullptr || own == memory) return;
    require(memory == nullptr, "[compile] ", what, " ", i, " lies on ", own->name(), ", others on ",
            memory == nullptr ? "" : memory->name(), "; bring them to one device with to()");
    memory = own;
  };
  for (std::size_t i = 0; i < tensors.arguments.size(); ++i)
    look_at(tensors.arguments[i], "argument", i);
  for (std::size_t i = 0; i < tensors.captured.size(); ++i)
    look_at(tensors.captured[i], "captured tensor", i);
  return memory == nullptr ? otherwise : Device::of(memory);
}

static PlanOptions with_lock(PlanOptions wanted, const ResolvedOptions& options) {
  require(options.write_plan.empty() || options.locked_plan.empty(), "[compile] write_plan is \"",
          options.write_plan, "\" and locked_plan \"", options.locked_plan,
          "\"; a plan is written or kept to");
  if (!options.write_plan.empty())
    wanted.lock = PlanLock::write(options.write_plan);
  else if (!options.locked_plan.empty())
    wanted.lock = PlanLock::read(options.locked_plan);
  return wanted;
}

void note_unrecorded(const Plan& plan) {
  std::string names;
  for (const PlanProgram& program : plan.programs())
    if (plan.executable()
            ->kernels[static_cast<std::size_t>(&program - plan.programs().data())]
            .call)
      names += concat(names.empty() ? "" : ", ", program.user_ops.front());
  UnkeptOptions::note("mode", concat("launches are not recorded, since the host works between them "
                                     "(",
                                     names, "); they are launched one by one"));
}

BoundPlan::BoundPlan(CheckedGraph checked, CompiledFor tensors, const ResolvedOptions& options)
    : BoundPlan(checked, tensors, options, device_for(tensors, options.plan.device)) {}

BoundPlan::BoundPlan(CheckedGraph& checked, CompiledFor& tensors, const ResolvedOptions& options,
                     const Device& device)
    : graph_(std::move(checked.graph)),
      checks_(std::move(checked.checks)),
      written_(graph_, std::move(tensors.names)),
      inputs_(tensors.signature.size(), std::move(tensors.captured), device.memory()),
      options_(frozen_options(tensors, options, device)),
      saving_(keep_to(graph_, options_, {options.saved_share, options.memory_limit})),
      is_interpolated_(checked.is_interpolated),
      chosen_(graph_, with_lock(options_, options), options.searches_in_background,
              [&] { return step_inputs(tensors.arguments); }) {
  inputs_.bind(plan(), tensors.arguments);
}

std::vector<InputMemory> BoundPlan::memory_of_inputs(const CompiledFor& tensors,
                                                     bool weights_are_frozen,
                                                     const Device& device) const {
  const bool is_gpu = device.target().is_gpu();
  std::vector<InputMemory> result;
  for (const ArgumentType& argument : tensors.signature)
    result.push_back({.is_aligned = !is_gpu || argument.is_aligned});
  for (std::size_t i = 0; i < tensors.weights.size(); ++i)
    result[i].is_frozen = weights_are_frozen && tensors.weights[i];
  for (const Tensor& tensor : inputs_.captured())
    result.push_back({.is_aligned = !is_gpu || begins_aligned(*tensor.body()),
                      .is_frozen = weights_are_frozen && !tensor.body()->is_setting});
  for (std::size_t i : written_.numbers()) result[i].is_frozen = false;
  return result;
}

PlanOptions BoundPlan::frozen_options(const CompiledFor& tensors, const ResolvedOptions& options,
                                      const Device& device) {
  PlanOptions wanted = options.plan;
  wanted.device = device;
  if (wanted.row_invariant && device.target().is_gpu())
    UnkeptOptions::note(
        "batch_invariant",
        "products on a GPU sum a row as suits the number of rows; on a host each of "
        "up to 16 rows is summed as one row alone");
  wanted.inputs = memory_of_inputs(tensors, options.weights_are_frozen, device);
  inputs_.freeze(graph_, wanted, tensors.arguments);
  wanted.title = to_string(tensors.signature);
  return wanted;
}

// Tensors with bodies of their own, since the background does not notice a tensor that moves.
StepInputs BoundPlan::step_inputs(const std::vector<Tensor>& arguments) const {
  StepInputs result{{}, inputs_.arguments(), written_.numbers()};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorBody& body = *inputs_.at(i, arguments).body();
    result.inputs.push_back(make_tensor(body.dtype, body.view, body.buffer));
  }
  return result;
}

bool BoundPlan::fits(const std::vector<Tensor>& captured) const {
  const bool is_gpu = plan().device().target().is_gpu();
  auto is_same = [&](const Tensor& a, const Tensor& b) {
    return memory_of(a) == memory_of(b) &&
           (!is_gpu || begins_aligned(*a.body()) == begins_aligned(*b.body()));
  };
  return std::ranges::equal(captured, inputs_.captured(), is_same);
}

void BoundPlan::rebind(std::vector<Tensor> captured, RowChecks checks) {
  checks_ = std::move(checks);
  inputs_.replace_captured(std::move(captured));
  inputs_.bind(plan(), {});
}

void BoundPlan::require_not_shared(const std::vector<Tensor>& arguments) const {
  if (written().empty()) return;
  if (const auto shared = written_.shared(inputs_, arguments))
    written_.raise_shared(*shared, inputs_, arguments);
}

void BoundPlan::set_inputs(const std::vector<Tensor>& arguments) {
  inputs_.set(plan(), arguments);
  written_.require_not_frozen(inputs_, arguments);
}

void BoundPlan::take_back_written(const std::vector<Tensor>& arguments) {
  for (std::size_t i : written_.numbers()) inputs_.take_back(i, arguments);
}

LaunchTimes* BoundPlan::times_of_run(std::int64_t times, bool is_measured) {
  if (is_measured) return &times_;
  if (times_.runs >= timed_runs) [[likely]]
    return nullptr;
  const bool is_free = times == 1 && !plan().device().target().is_gpu() && !is_tracing();
  return is_free ? &times_ : nullptr;
}

// Waits for the run before, on a GPU too.
void BoundPlan::take_found(const std::function<std::string(const Plan&)>& record) {
  std::shared_ptr<const Plan> found = chosen_.found();
  if (!found) [[likely]]
    return;
  try {
    found->device().synchronize();
    std::string consequence = record(*found);
    chosen_.take(std::move(found), std::move(consequence));
    times_ = {};
    inputs_.pack_again(plan());
  } catch (const Error& error) {
    chosen_.refuse(error.what());
  }
}

void BoundPlan::fill(PlanReport& report) const {
  const Plan& plan = this->plan();
  const std::vector<double> seconds = plan.program_seconds(times_);
  for (const PlanProgram& program : plan.programs())
    report.regions.push_back({program.name, program.kind, program.instances, program.launches,
                              program.bytes, program.compile_seconds, program.ops, program.user_ops,
                              program.key, seconds[report.regions.size()], program.marks});
  for (const MarkedRegion& region : plan.marked_regions())
    report.marked.push_back({region.name, region.instances, region.structures, region.programs});
  report.timed_calls = times_.runs;
  report.run_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  report.device = plan.device().text();
  report.host_bytes = inputs_.copied_bytes();
  report.launches = plan.launches();
  report.nodes = static_cast<std::int64_t>(graph_.nodes.size() - graph_.inputs.size());
  report.arena_bytes = plan.arena_bytes();
  const FrozenMemory frozen = inputs_.frozen_memory();
  report.packed_weights = frozen.packed;
  report.packed_bytes = frozen.packed_bytes;
  report.frozen_values = frozen.values;
  report.frozen_bytes = frozen.value_bytes;
  report.lower_seconds = plan.lower_seconds();
  report.compile_seconds = plan.compile_seconds();
  for (const ExecutableKernel& kernel : plan.executable()->kernels)
    if (kernel.single && dsl::awaits_full_code(*kernel.single)) ++report.awaiting_full_code;
  report.tuning = chosen_.tuning_text();
  report.saving = saving_;
  if (is_interpolated_ && plan.body().is_interpolated)
    report.sizes = "    graph and regions are interpolated from plans of other sizes\n";
}

MemoryReport BoundPlan::memory(std::span<const std::int64_t> copies) const {
  const PlanMemory of_plan = memory_of(*plan().executable(), copies);
  MemoryReport report{.results = of_plan.outputs,
                      .intermediate = of_plan.arena,
                      .loops = of_plan.loops,
                      .copies = std::accumulate(copies.begin(), copies.end(), std::int64_t{0}),
                      .constants = of_plan.constants,
                      .packed = inputs_.frozen_memory().packed_bytes,
                      .peak = of_plan.peak};
  const auto count = [&](NodeId input) {
    const Node& node = graph_.node(input);
    return element_count(node.shape) * size_bytes(node.dtype);
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    (i < inputs_.arguments() ? report.arguments : report.captured) += count(graph_.inputs[i]);
  return report;
}

std::string BoundPlan::dump() const {
  std::string text;
  if (!inputs_.frozen().tensors().empty())
    text += concat("# computed once, of frozen weights:\n", print(inputs_.frozen().graph()),
                   "# at each call:\n");
  text += print(graph_);
  const FusedTasks tasks = fused_tasks(graph_, options_);
  text += print(tasks.list, tasks.regions);
  for (std::size_t i = 0; i < plan().programs().size(); ++i)
    text += concat("\n# launches: ", plan().programs()[i].launches, "\n", plan().program_text(i));
  return text;
}

}  // namespace tilewright::graph
