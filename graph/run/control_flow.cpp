#include "graph/run/control_flow.h"

#include <algorithm>
#include <utility>

#include "graph/ir/location.h"
#include "graph/ir/options/unkept_options.h"
#include "graph/lower/packed_weights.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/region_key.h"
#include "graph/run/memory.h"
#include "graph/run/plan_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

PlanOptions options_of_body(const PlanOptions& around, Op op, std::source_location where) {
  PlanOptions options = around;
  if (options.tune || options.choices)
    UnkeptOptions::note(options.tune && !options.tune->searches ? "tune_in_background" : "mode",
                        concat("programs inside ", info(op).name, " at ", describe(where),
                               " have the default block configurations; nothing is searched for "
                               "inside branches and loops"));
  options.tune.reset();
  options.choices.reset();
  options.inputs.clear();
  options.gives_written_inputs = true;
  options.title = concat(options.title, " inside ", info(op).name);
  return options;
}

// Where the value of an operand or a result lies among the region's storages.
ControlPiece piece_of(const TaskList& list, const std::vector<StorageId>& storages,
                      StorageId storage, const StridedView& view) {
  const std::int64_t size = size_bytes(list.storages[storage].dtype);
  const auto argument = std::ranges::find(storages, storage) - storages.begin();
  return {static_cast<std::uint32_t>(argument), view.offset * size,
          element_count(view.shape) * size};
}

// The memory at which the inputs of a body begin; those that are sliced begin where each slice
// does. Inputs that are the same in each turn are frozen where the operands are.
std::vector<InputMemory> inputs_of(const TaskList& list, const Task& task,
                                   const ControlFlow& control, std::size_t first) {
  std::vector<InputMemory> result;
  for (std::size_t i = first; i < control.operands.size(); ++i) {
    const ControlPiece& piece = control.operands[i];
    const bool is_aligned =
        list.storages[task.operands[i].storage].is_aligned && piece.offset % alignment == 0;
    const auto number = static_cast<std::int64_t>(i);
    const bool is_invariant = number >= control.carried + control.sliced;
    const bool is_sliced = number >= control.carried && !is_invariant;
    const bool stays = !is_sliced || (piece.bytes / control.turns) % alignment == 0;
    result.push_back({.is_aligned = is_aligned && stays,
                      .is_frozen = is_invariant && may_be_packed(list, task.operands[i])});
  }
  return result;
}

// The body reads what is the same in each turn where it lies, and writes carried values that the
// loop updates in place.
Graph with_memory(const Graph& body, const Task& task, const ControlFlow& control,
                  std::size_t first) {
  Graph result = body;
  for (std::size_t i = 0; std::cmp_less(i, control.carried); ++i)
    if (is_updated_in_place(control, i))
      result.mutations.push_back({body.inputs[i], body.outputs[i]});
  result.input_strides.resize(result.inputs.size());
  for (auto i = static_cast<std::size_t>(control.carried + control.sliced);
       i < task.operands.size(); ++i)
    if (i >= first) result.input_strides[i - first] = task.operands[i].view.strides;
  return result;
}

// A body by its plan. Packed weights of the bodies become the node's: of its operands, each once.
ControlBody body_of(const Plan& plan, const std::vector<Strides>& strides, const Task& task,
                    std::size_t first, std::size_t arguments, std::vector<PackedOperand>& packed) {
  ControlBody body{plan.executable(), static_cast<std::uint32_t>(strides.size()), {}, {}};
  for (const PlanOutput& output : plan.outputs()) {
    body.results.push_back({output.dtype, output.shape, {}, {}});
    if (!output.input) continue;
    body.results.back().input = static_cast<std::uint32_t>(*output.input);
    body.results.back().strides = strides[static_cast<std::size_t>(*output.input)];
  }
  for (const PackedWeight& weight : plan.packed_weights()) {
    PackedOperand own{static_cast<std::size_t>(weight.input) + first, weight};
    own.weight.matrix.offset += task.operands[own.operand].view.offset;
    const auto known = std::ranges::find(packed, own);
    body.packed.push_back(
        static_cast<std::uint32_t>(arguments + static_cast<std::size_t>(known - packed.begin())));
    if (known == packed.end()) packed.push_back(std::move(own));
  }
  return body;
}

ControlKind control_kind_of(Op op) {
  return op == Op::cond         ? ControlKind::cond
         : op == Op::while_loop ? ControlKind::while_loop
                                : ControlKind::scan;
}

}  // namespace

bool is_control_flow(const TaskList& list, const Region& region) {
  const Task& task = list.tasks[region.tasks[0]];
  return task.is_opaque() && info(*task.op).kind == Kind::control;
}

ControlFlowCall control_flow_call(const TaskList& list, const Region& region,
                                  const PlanOptions& options, std::source_location where) {
  const Task& task = list.tasks[region.tasks[0]];
  const std::vector<StorageId> storages = storages_of(list, region);
  auto control = std::make_shared<ControlFlow>();
  control->kind = control_kind_of(*task.op);
  control->memory = options.device.memory();
  control->carried = task.attributes.carried;
  control->sliced = task.attributes.sliced;
  control->turns = task.attributes.end;
  control->descending = task.attributes.descending;
  for (const TaskOperand& operand : task.operands)
    control->operands.push_back(piece_of(list, storages, operand.storage, operand.view));
  control->results.push_back(piece_of(list, storages, task.storage, task.place));
  for (const TaskResult& other : task.others)
    control->results.push_back(piece_of(list, storages, other.storage, row_major(other.shape)));
  const std::size_t first = *task.op == Op::cond ? 1 : 0;
  PlanOptions body = options_of_body(options, *task.op, where);
  body.inputs = inputs_of(list, task, *control, first);
  ControlFlowCall result;
  std::vector<std::shared_ptr<const Plan>> plans;
  for (std::size_t i = 0; i < task.attributes.bodies.size(); ++i) {
    const Graph graph = with_memory(task.attributes.bodies[i], task, *control, first);
    plans.push_back(make_plan(run_passes(graph, {.target = options.device.target()}), body));
    control->bodies.push_back(
        body_of(*plans.back(), graph.input_strides, task, first, storages.size(), result.packed));
  }
  result.call = PlannedControlFlow{std::move(control), std::move(plans)};
  return result;
}

}  // namespace tilewright::graph
