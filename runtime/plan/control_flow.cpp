#include "runtime/plan/control_flow.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/plan/loop_stop.h"

namespace tilewright {
namespace {

using Address = std::byte*;

constexpr std::int64_t value_alignment = 64;
constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + value_alignment - 1) / value_alignment * value_alignment;
}

void copy(DeviceMemory* memory, Address to, const std::byte* from, std::int64_t bytes) {
  if (memory != nullptr)
    memory->copy(to, from, bytes);
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// A result that is an input, whose elements lie apart by its strides.
void copy_input(DeviceMemory* memory, Address to, const std::byte* from,
                const ControlBody::Result& result) {
  const Shape& shape = result.shape;
  const std::int64_t bytes = size_bytes(result.dtype), count = element_count(shape);
  if (result.strides.empty() || is_row_major(shape, result.strides)) {
    if (to != from) copy(memory, to, from, count * bytes);
    return;
  }
  const std::int64_t run = result.strides[-1] == 1 ? shape[-1] : 1;
  for (std::int64_t first = 0; first < count; first += run) {
    std::int64_t rest = first, offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += rest % shape[axis] * result.strides[axis];
      rest /= shape[axis];
    }
    copy(memory, to + first * bytes, from + offset * bytes, run * bytes);
  }
}

// Runs a body in memory that it is given.
class BodyRunner {
 public:
  explicit BodyRunner(const ControlBody& body) : body_(body), outputs_(run().output_bytes.size()) {
    for (std::size_t i = body.results.size(); i-- > 0;)
      if (run().results[i]) outputs_[*run().results[i]] = i;
  }
  std::int64_t bytes(std::size_t result) const { return body_.results[result].bytes(); }

  // Each result is written to its address; all are aligned, and none is what an input reads.
  void run_on(std::span<const Address> inputs, std::span<const Address> results, Address arena,
              const Argument* of_node) {
    for (const ExecutableStep& step : run().steps) {
      arguments_.resize(step.slots());
      for (std::uint32_t i = 0; i < arguments_.size(); ++i)
        arguments_[i] = argument(run().slots[step.first_slot + i], inputs, results, arena, of_node);
      run_step(run(), step, arguments_.data());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::optional<std::uint32_t> buffer = run().results[i];
      if (!buffer) {
        const ControlBody::Result& result = body_.results[i];
        copy_input(run().memory, results[i], inputs[*result.input], result);
        continue;
      }
      const Address from = results[outputs_[*buffer]];
      if (from != results[i]) copy(run().memory, results[i], from, bytes(i));
    }
  }

 private:
  const Executable& run() const { return *body_.run; }
  Argument argument(const ArgumentSlot& slot, std::span<const Address> inputs,
                    std::span<const Address> results, Address arena,
                    const Argument* of_node) const {
    switch (slot.kind) {
      case SlotKind::input:
        if (slot.index >= body_.inputs) return of_node[body_.packed[slot.index - body_.inputs]];
        return {.pointer = inputs[slot.index]};
      case SlotKind::output: return {.pointer = results[outputs_[slot.index]]};
      case SlotKind::constant: return {.pointer = run().constants[slot.index]->data()};
      case SlotKind::arena: return {.pointer = arena + slot.offset};
      case SlotKind::number: return {.integer = slot.offset};
    }
    __builtin_unreachable();
  }

  const ControlBody& body_;
  std::vector<std::size_t> outputs_;  // of each buffer: a result that it is
  std::vector<Argument> arguments_;   // of a step
};

std::int64_t arena_bytes(const ControlFlow& control) {
  std::int64_t most = 0;
  for (const ControlBody& body : control.bodies) most = std::max(most, body.run->arena_bytes);
  return aligned(most);
}

// The bytes of carried values, in as many places.
std::int64_t carried_bytes(const ControlFlow& control, std::int64_t places) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; std::cmp_less(i, control.carried); ++i)
    if (!is_updated_in_place(control, i)) bytes += places * aligned(control.operands[i].bytes);
  return bytes;
}
// One slice of each result behind the carried ones.
std::int64_t slice_bytes(const ControlFlow& control) {
  std::int64_t bytes = 0;
  const std::vector<ControlBody::Result>& results = control.bodies[0].results;
  for (auto i = static_cast<std::size_t>(control.carried); i < results.size(); ++i)
    bytes += aligned(results[i].bytes());
  return bytes;
}

Address address(const ControlPiece& piece, const Argument* arguments) {
  void* begin = const_cast<void*>(arguments[piece.argument].pointer);
  return static_cast<Address>(begin) + piece.offset;
}

std::vector<Address> addresses(const std::vector<ControlPiece>& pieces, const Argument* arguments) {
  std::vector<Address> result;
  for (const ControlPiece& piece : pieces) result.push_back(address(piece, arguments));
  return result;
}

bool is_true(const ControlFlow& control, Address condition) {
  std::uint8_t value = 0;
  if (control.memory != nullptr)
    control.memory->copy_to_host(&value, condition, sizeof value);
  else
    value = std::to_integer<std::uint8_t>(*condition);
  return value != 0;
}

// Memory of one call, in which pieces are laid out one behind the other.
class CallMemory {
 public:
  explicit CallMemory(const ControlFlow& control)
      : buffer_(Buffer::allocate(bytes_of_run(control), control.memory)),
        next_(static_cast<Address>(buffer_->data())) {}
  Address take(std::int64_t bytes) { return std::exchange(next_, next_ + aligned(bytes)); }

 private:
  std::shared_ptr<Buffer> buffer_;
  Address next_;
};

void run_cond(const ControlFlow& control, const Argument* arguments) {
  CallMemory memory(control);
  std::vector<Address> inputs = addresses(control.operands, arguments);
  BodyRunner body(control.bodies[is_true(control, inputs[0]) ? 0 : 1]);
  body.run_on(std::span(inputs).subspan(1), addresses(control.results, arguments),
              memory.take(arena_bytes(control)), arguments);
}

// Carried values: two places each, of which one is read and the other written.
struct Carried {
  std::vector<Address> now, next;
  void turn() { std::swap(now, next); }
};
Carried carried_in(const ControlFlow& control, CallMemory& memory) {
  Carried result;
  for (std::int64_t i = 0; i < control.carried; ++i) {
    const std::int64_t bytes = control.operands[static_cast<std::size_t>(i)].bytes;
    result.now.push_back(memory.take(bytes));
    result.next.push_back(memory.take(bytes));
  }
  return result;
}

void run_while(const ControlFlow& control, const Argument* arguments) {
  CallMemory memory(control);
  Carried carried = carried_in(control, memory);
  Address arena = memory.take(arena_bytes(control)), condition = memory.take(1);
  std::vector<Address> inputs = addresses(control.operands, arguments);
  BodyRunner condition_of(control.bodies[0]), body(control.bodies[1]);
  const LoopStop stop("while_loop");
  for (std::int64_t turns = 0;; ++turns) {
    stop.look(turns);
    condition_of.run_on(inputs, {&condition, 1}, arena, arguments);
    if (!is_true(control, condition)) break;
    body.run_on(inputs, carried.next, arena, arguments);
    carried.turn();
    std::ranges::copy(carried.now, inputs.begin());
  }
  for (std::size_t i = 0; i < carried.now.size(); ++i)
    copy(control.memory, address(control.results[i], arguments), inputs[i],
         control.results[i].bytes);
}

// The second place of each carried value that is not updated in place: the first is the result's,
// where the last turn writes it.
std::vector<Address> second_places(const ControlFlow& control, CallMemory& memory) {
  std::vector<Address> places;
  for (std::size_t i = 0; std::cmp_less(i, control.carried); ++i)
    places.push_back(is_updated_in_place(control, i) ? nullptr
                                                     : memory.take(control.operands[i].bytes));
  return places;
}

// A slice that does not begin where programs may write is written beside and copied.
void run_scan(const ControlFlow& control, const Argument* arguments) {
  BodyRunner body(control.bodies[0]);
  const auto count = static_cast<std::size_t>(control.carried);
  CallMemory memory(control);
  const std::vector<Address> second = second_places(control, memory);
  Address arena = memory.take(arena_bytes(control));
  std::vector<Address> beside(control.results.size());
  for (std::size_t i = count; i < beside.size(); ++i) beside[i] = memory.take(body.bytes(i));
  std::vector<Address> inputs = addresses(control.operands, arguments);
  const std::vector<Address> first = inputs, results = addresses(control.results, arguments);
  std::vector<Address> outputs(beside.size());
  const LoopStop stop("scan");
  for (std::int64_t turn = 0; turn < control.turns; ++turn) {
    stop.look(turn);
    const std::int64_t at = control.descending ? control.turns - 1 - turn : turn;
    for (std::size_t i = count; i < count + static_cast<std::size_t>(control.sliced); ++i)
      inputs[i] = first[i] + at * (control.operands[i].bytes / control.turns);
    const bool is_first_place = (control.turns - 1 - turn) % 2 == 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i < count)
        outputs[i] = is_first_place || second[i] == nullptr ? results[i] : second[i];
      else
        outputs[i] =
            body.bytes(i) % value_alignment == 0 ? results[i] + at * body.bytes(i) : beside[i];
    }
    body.run_on(inputs, outputs, arena, arguments);
    for (std::size_t i = count; i < outputs.size(); ++i)
      if (outputs[i] == beside[i])
        copy(control.memory, results[i] + at * body.bytes(i), beside[i], body.bytes(i));
    std::copy_n(outputs.begin(), count, inputs.begin());
  }
}

}  // namespace

bool is_updated_in_place(const ControlFlow& control, std::size_t carried) {
  return control.kind == ControlKind::scan && control.operands[carried] == control.results[carried];
}

std::int64_t bytes_of_run(const ControlFlow& control) {
  std::int64_t bytes = arena_bytes(control);
  switch (control.kind) {
    case ControlKind::cond: break;
    case ControlKind::while_loop: bytes += carried_bytes(control, 2) + value_alignment; break;
    case ControlKind::scan: bytes += carried_bytes(control, 1) + slice_bytes(control); break;
  }
  return std::max<std::int64_t>(bytes, 1);
}

void run_control_flow(const ControlFlow& control, const Argument* arguments) {
  switch (control.kind) {
    case ControlKind::cond: return run_cond(control, arguments);
    case ControlKind::while_loop: return run_while(control, arguments);
    case ControlKind::scan: return run_scan(control, arguments);
  }
}

}  // namespace tilewright
