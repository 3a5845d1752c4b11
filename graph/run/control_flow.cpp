#include "graph/run/control_flow.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/ir/location.h"
#include "graph/ir/options/unkept_options.h"
#include "graph/lower/packed_weights.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/region_key.h"
#include "graph/run/loop_stop.h"
#include "graph/run/memory.h"
#include "graph/run/plan_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Address = std::byte*;

// A value of a body, or of the node: where it lies among the arguments, and its size.
struct Piece {
  std::size_t argument = 0;
  std::int64_t offset = 0;  // bytes
  std::int64_t bytes = 0;
  bool is_aligned = true;
};

// Runs a body in memory that it is given.
class BodyRunner {
 public:
  // `strides` has an entry an input of the body, of which none are row-major; behind the inputs its
  // plan reads packed weights.
  BodyRunner(std::shared_ptr<const Plan> plan, std::vector<Strides> strides)
      : plan_(std::move(plan)), inputs_(strides.size()), strides_(std::move(strides)) {
    const Executable& run = *plan_->executable();
    for (const PlanOutput& output : plan_->outputs())
      bytes_.push_back(element_count(output.shape) * size_bytes(output.dtype));
    for (const auto& buffer : run.results) of_buffer_.push_back(buffer);
    outputs_.resize(run.output_bytes.size());
    for (std::size_t i = of_buffer_.size(); i-- > 0;)
      if (of_buffer_[i]) outputs_[*of_buffer_[i]] = i;
  }
  std::int64_t arena_bytes() const { return plan_->arena_bytes(); }
  std::int64_t bytes(std::size_t result) const { return bytes_[result]; }
  std::size_t results() const { return bytes_.size(); }
  const std::vector<PackedWeight>& packed_weights() const { return plan_->packed_weights(); }
  // The argument of the node that is the body's packed weight `number`.
  void set_packed(std::size_t number, std::size_t argument) {
    packed_.resize(std::max(packed_.size(), number + 1));
    packed_[number] = argument;
  }

  // Each result is written to its address; all are aligned, and none is what an input reads.
  void run(std::span<const Address> inputs, std::span<const Address> results, Address arena,
           const Argument* of_node) const {
    const Executable& run = *plan_->executable();
    std::vector<Argument> arguments;
    for (const ExecutableStep& step : run.steps) {
      arguments.resize(step.slots());
      for (std::uint32_t i = 0; i < arguments.size(); ++i)
        arguments[i] =
            argument(run, run.slots[step.first_slot + i], inputs, results, arena, of_node);
      run_step(run, step, arguments.data());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!of_buffer_[i]) {
        const auto input = static_cast<std::size_t>(*plan_->outputs()[i].input);
        copy_input(results[i], inputs[input], plan_->outputs()[i], strides_[input]);
        continue;
      }
      Address from = results[outputs_[*of_buffer_[i]]];
      if (from != results[i]) copy(results[i], from, bytes_[i]);
    }
  }
  // A result that is an input, whose elements lie apart by these strides.
  void copy_input(Address to, const std::byte* from, const PlanOutput& output,
                  const Strides& strides) const {
    const Shape& shape = output.shape;
    const std::int64_t bytes = size_bytes(output.dtype), count = element_count(shape);
    if (strides.empty() || is_row_major(shape, strides)) {
      if (to != from) copy(to, from, count * bytes);
      return;
    }
    const std::int64_t run = strides[-1] == 1 ? shape[-1] : 1;
    for (std::int64_t first = 0; first < count; first += run) {
      std::int64_t rest = first, offset = 0;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        offset += rest % shape[axis] * strides[axis];
        rest /= shape[axis];
      }
      copy(to + first * bytes, from + offset * bytes, run * bytes);
    }
  }
  void copy(Address to, const std::byte* from, std::int64_t bytes) const {
    if (DeviceMemory* memory = plan_->executable()->memory)
      memory->copy(to, from, bytes);
    else
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

 private:
  Argument argument(const Executable& run, const ArgumentSlot& slot,
                    std::span<const Address> inputs, std::span<const Address> results,
                    Address arena, const Argument* of_node) const {
    switch (slot.kind) {
      case SlotKind::input:
        if (slot.index >= inputs_) return of_node[packed_[slot.index - inputs_]];
        return {.pointer = inputs[slot.index]};
      case SlotKind::output: return {.pointer = results[outputs_[slot.index]]};
      case SlotKind::constant: return {.pointer = run.constants[slot.index]->data()};
      case SlotKind::arena: return {.pointer = arena + slot.offset};
      case SlotKind::number: return {.integer = slot.offset};
    }
    __builtin_unreachable();
  }

  std::shared_ptr<const Plan> plan_;
  std::size_t inputs_;
  std::vector<Strides> strides_;
  std::vector<std::size_t> packed_;
  std::vector<std::int64_t> bytes_;                      // of each result
  std::vector<std::optional<std::uint32_t>> of_buffer_;  // of each result; none: an input's memory
  std::vector<std::size_t> outputs_;                     // of each buffer: a result that it is
};

// Shared by the three.
struct ControlNode {
  std::vector<Piece> operands, results;
  std::vector<BodyRunner> bodies;
  DeviceMemory* memory = nullptr;
  std::int64_t carried = 0, sliced = 0, turns = 0;
  bool descending = false;

  std::int64_t arena_bytes() const {
    std::int64_t most = 0;
    for (const BodyRunner& body : bodies) most = std::max(most, body.arena_bytes());
    return aligned(most);
  }
  static Address address(const Piece& piece, const Argument* arguments) {
    void* begin = const_cast<void*>(arguments[piece.argument].pointer);
    return static_cast<Address>(begin) + piece.offset;
  }
  std::vector<Address> addresses(const std::vector<Piece>& pieces, const Argument* a) const {
    std::vector<Address> result;
    for (const Piece& piece : pieces) result.push_back(address(piece, a));
    return result;
  }
  bool is_true(Address condition) const {
    std::uint8_t value = 0;
    if (memory != nullptr)
      memory->copy_to_host(&value, condition, sizeof value);
    else
      value = std::to_integer<std::uint8_t>(*condition);
    return value != 0;
  }
};

// Memory of one call, in which pieces are laid out one behind the other.
class CallMemory {
 public:
  CallMemory(DeviceMemory* memory, std::int64_t bytes)
      : buffer_(Buffer::allocate(std::max<std::int64_t>(bytes, 1), memory)),
        next_(static_cast<Address>(buffer_->data())) {}
  Address take(std::int64_t bytes) { return std::exchange(next_, next_ + aligned(bytes)); }

 private:
  std::shared_ptr<Buffer> buffer_;
  Address next_;
};

void run_cond(const ControlNode& control, const Argument* arguments) {
  CallMemory memory(control.memory, control.arena_bytes());
  std::vector<Address> inputs = control.addresses(control.operands, arguments);
  const BodyRunner& body = control.bodies[control.is_true(inputs[0]) ? 0 : 1];
  body.run(std::span(inputs).subspan(1), control.addresses(control.results, arguments),
           memory.take(control.arena_bytes()), arguments);
}

// Carried values: two places each, of which one is read and the other written.
struct Carried {
  std::vector<Address> now, next;
  void turn() { std::swap(now, next); }
};
std::int64_t carried_bytes(const ControlNode& control) {
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < control.carried; ++i)
    bytes += 2 * aligned(control.operands[static_cast<std::size_t>(i)].bytes);
  return bytes;
}
Carried carried_in(const ControlNode& control, CallMemory& memory) {
  Carried result;
  for (std::int64_t i = 0; i < control.carried; ++i) {
    const std::int64_t bytes = control.operands[static_cast<std::size_t>(i)].bytes;
    result.now.push_back(memory.take(bytes));
    result.next.push_back(memory.take(bytes));
  }
  return result;
}

void run_while(const ControlNode& control, const Argument* arguments) {
  CallMemory memory(control.memory, carried_bytes(control) + control.arena_bytes() + alignment);
  Carried carried = carried_in(control, memory);
  Address arena = memory.take(control.arena_bytes()), condition = memory.take(1);
  std::vector<Address> inputs = control.addresses(control.operands, arguments);
  const BodyRunner& body = control.bodies[1];
  const LoopStop stop("while_loop");
  for (std::int64_t turns = 0;; ++turns) {
    stop.look(turns);
    control.bodies[0].run(inputs, {&condition, 1}, arena, arguments);
    if (!control.is_true(condition)) break;
    body.run(inputs, carried.next, arena, arguments);
    carried.turn();
    std::ranges::copy(carried.now, inputs.begin());
  }
  for (std::size_t i = 0; i < carried.now.size(); ++i)
    body.copy(ControlNode::address(control.results[i], arguments), inputs[i],
              control.results[i].bytes);
}

// A slice that does not begin where programs may write is written beside and copied.
void run_scan(const ControlNode& control, const Argument* arguments) {
  const BodyRunner& body = control.bodies[0];
  const auto count = static_cast<std::size_t>(control.carried);
  std::int64_t slices = 0;
  for (std::size_t i = count; i < body.results(); ++i) slices += aligned(body.bytes(i));
  CallMemory memory(control.memory, carried_bytes(control) + control.arena_bytes() + slices);
  Carried carried = carried_in(control, memory);
  Address arena = memory.take(control.arena_bytes());
  std::vector<Address> beside(body.results());
  for (std::size_t i = count; i < beside.size(); ++i) beside[i] = memory.take(body.bytes(i));
  std::vector<Address> inputs = control.addresses(control.operands, arguments);
  const std::vector<Address> first = inputs,
                             results = control.addresses(control.results, arguments);
  std::vector<Address> outputs(beside.size());
  const LoopStop stop("scan");
  for (std::int64_t turn = 0; turn < control.turns; ++turn) {
    stop.look(turn);
    const std::int64_t at = control.descending ? control.turns - 1 - turn : turn;
    for (std::size_t i = count; i < count + static_cast<std::size_t>(control.sliced); ++i)
      inputs[i] = first[i] + at * (control.operands[i].bytes / control.turns);
    const bool is_last = turn == control.turns - 1;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i < count)
        outputs[i] = is_last ? results[i] : carried.next[i];
      else
        outputs[i] = body.bytes(i) % alignment == 0 ? results[i] + at * body.bytes(i) : beside[i];
    }
    body.run(inputs, outputs, arena, arguments);
    for (std::size_t i = count; i < outputs.size(); ++i)
      if (outputs[i] == beside[i])
        body.copy(results[i] + at * body.bytes(i), beside[i], body.bytes(i));
    carried.turn();
    std::ranges::copy(carried.now, inputs.begin());
  }
}

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
  options.title = concat(options.title, " inside ", info(op).name);
  return options;
}

// Where the value of an operand or a result lies among the region's storages.
Piece piece_of(const TaskList& list, const std::vector<StorageId>& storages, StorageId storage,
               const StridedView& view) {
  const Storage& memory = list.storages[storage];
  const std::int64_t size = size_bytes(memory.dtype);
  Piece piece;
  piece.argument =
      static_cast<std::size_t>(std::ranges::find(storages, storage) - storages.begin());
  piece.offset = view.offset * size;
  piece.bytes = element_count(view.shape) * size;
  piece.is_aligned = memory.is_aligned && piece.offset % alignment == 0;
  return piece;
}

// The memory at which the inputs of a body begin; those that are sliced begin where each slice
// does. Inputs that are the same in each turn are frozen where the operands are.
std::vector<InputMemory> inputs_of(const TaskList& list, const Task& task,
                                   const ControlNode& control, std::size_t first) {
  std::vector<InputMemory> result;
  for (std::size_t i = first; i < control.operands.size(); ++i) {
    const Piece& piece = control.operands[i];
    const auto number = static_cast<std::int64_t>(i);
    const bool is_invariant = number >= control.carried + control.sliced;
    const bool is_sliced = number >= control.carried && !is_invariant;
    const bool stays = !is_sliced || (piece.bytes / control.turns) % alignment == 0;
    result.push_back({.is_aligned = piece.is_aligned && stays,
                      .is_frozen = is_invariant && may_be_packed(list, task.operands[i])});
  }
  return result;
}

// The body reads what is the same in each turn where it lies.
Graph with_strides(const Graph& body, const Task& task, const ControlNode& control,
                   std::size_t first) {
  Graph result = body;
  result.input_strides.resize(result.inputs.size());
  for (auto i = static_cast<std::size_t>(control.carried + control.sliced);
       i < task.operands.size(); ++i)
    if (i >= first) result.input_strides[i - first] = task.operands[i].view.strides;
  return result;
}

// Packed weights of the bodies as the node's: of its operands, each once.
void take_packed(ControlFlowCall& call, ControlNode& control, const Task& task, std::size_t first,
                 std::size_t arguments) {
  for (BodyRunner& body : control.bodies)
    for (std::size_t i = 0; i < body.packed_weights().size(); ++i) {
      PackedOperand packed{static_cast<std::size_t>(body.packed_weights()[i].input) + first,
                           body.packed_weights()[i]};
      packed.weight.matrix.offset += task.operands[packed.operand].view.offset;
      const auto known = std::ranges::find(call.packed, packed);
      body.set_packed(i, arguments + static_cast<std::size_t>(known - call.packed.begin()));
      if (known == call.packed.end()) call.packed.push_back(std::move(packed));
    }
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
  auto control = std::make_shared<ControlNode>();
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
  for (std::size_t i = 0; i < task.attributes.bodies.size(); ++i) {
    const Graph graph = with_strides(task.attributes.bodies[i], task, *control, first);
    control->bodies.emplace_back(
        make_plan(run_passes(graph, {.target = options.device.target()}), body),
        graph.input_strides);
  }
  ControlFlowCall result;
  take_packed(result, *control, task, first, storages.size());
  void (*run)(const ControlNode&, const Argument*) = *task.op == Op::cond         ? run_cond
                                                     : *task.op == Op::while_loop ? run_while
                                                                                  : run_scan;
  result.call = [control, run](const Grid&, const Argument* arguments) {
    run(*control, arguments);
  };
  return result;
}

}  // namespace tilewright::graph
