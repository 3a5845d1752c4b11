#include "runtime/package/executable_rules.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

constexpr int most_depth = 32;  // of bodies in bodies

// Bytes that steps have written so far, as ranges that do not meet.
class WrittenBytes {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) --next;
    while (next != ranges_.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_[begin] = end;
  }
  bool has(std::int64_t begin, std::int64_t end) const {
    if (begin == end) return true;
    auto next = ranges_.upper_bound(begin);
    return next != ranges_.begin() && std::prev(next)->second >= end;
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // ends by begins
};

class ExecutableRules {
 public:
  ExecutableRules(const PackageContents& contents, const PackageExecutable& executable,
                  std::span<const InputRule> inputs)
      : contents_(contents), own_(executable), run_(executable.run), inputs_(inputs) {}

  void check() {
    for (const PackageKernelUse& use : own_.kernels)
      require_number(use.index, kernels_of(use.kind), "kernel");
    for (std::uint32_t blob : own_.constants) require_number(blob, contents_.blobs.size(), "blob");
    require(run_.arena_bytes >= 0, "its arena has ", run_.arena_bytes, " bytes");
    for (std::int64_t bytes : run_.output_bytes)
      require(bytes >= 0, "an output has ", bytes, " bytes");
    for (const Grid& grid : run_.grids) grid.count();  // an Error for what cannot be counted
    for (const auto& result : run_.results)
      if (result) require_number(*result, run_.output_bytes.size(), "output buffer");
    for (std::size_t i = 0; i < run_.steps.size(); ++i) check_step(i, run_.steps[i]);
  }

 private:
  std::size_t kernels_of(PackageKernelUse::Kind kind) const {
    switch (kind) {
      case PackageKernelUse::Kind::code: return contents_.kernels.size();
      case PackageKernelUse::Kind::control_flow: return contents_.control_flow.size();
      case PackageKernelUse::Kind::refusal: return contents_.refusals.size();
    }
    __builtin_unreachable();
  }

  void check_step(std::size_t number, const ExecutableStep& step) try {
    require_number(step.kernel, own_.kernels.size(), "kernel");
    require(step.grids >= 1, "it has no grid");
    require(
        step.first_grid <= run_.grids.size() && step.grids <= run_.grids.size() - step.first_grid,
        "its grids end at ", std::uint64_t{step.first_grid} + step.grids, ", of ",
        run_.grids.size());
    const std::uint64_t slots = std::uint64_t{step.grids} * step.slots_of_a_grid;
    require(step.first_slot <= run_.slots.size() && slots <= run_.slots.size() - step.first_slot,
            "its arguments end at ", step.first_slot + slots, ", of ", run_.slots.size());
    for (std::uint32_t i = 0; i < step.grids; ++i)
      check_arguments(own_.kernels[step.kernel],
                      std::span(run_.slots)
                          .subspan(step.first_slot + std::size_t{i} * step.slots_of_a_grid,
                                   step.slots_of_a_grid));
    for (std::uint64_t i = 0; i < slots; ++i) note_written(run_.slots[step.first_slot + i]);
  } catch (const Error& error) {
    raise_error(concat("step ", number, ": ", error.what()));
  }

  void check_arguments(const PackageKernelUse& use, std::span<const ArgumentSlot> slots) const {
    if (use.kind != PackageKernelUse::Kind::code) {
      for (const ArgumentSlot& slot : slots) check_slot(slot, true);
      if (use.kind == PackageKernelUse::Kind::control_flow)
        check_pieces(contents_.control_flow[use.index].control, slots);
      return;
    }
    const PackageKernel& kernel = contents_.kernels[use.index];
    require(slots.size() == kernel.params.size(), "it has ", slots.size(),
            " arguments a grid, and its kernel takes ", kernel.params.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
      check_slot(slots[i], kernel.params[i].is_pointer);
  }

  // The operands and results of control flow lie in its arguments. Operands that are neither
  // carried nor sliced have any strides.
  static void check_pieces(const ControlFlow& control, std::span<const ArgumentSlot> slots) {
    auto check = [&](const ControlPiece& piece, std::int64_t bytes, bool is_written) {
      require_number(piece.argument, slots.size(), "argument");
      const ArgumentSlot& slot = slots[piece.argument];
      require(slot.bytes == 0 || (piece.offset <= slot.bytes && bytes <= slot.bytes - piece.offset),
              "it takes ", bytes, " bytes of argument ", piece.argument, " from ", piece.offset,
              " on, which has ", slot.bytes);
      require(slot.is_written || !is_written, "it writes to argument ", piece.argument,
              ", which is only read");
    };
    for (std::size_t i = 0; i < control.operands.size(); ++i) {
      const bool is_row_major = std::cmp_less(i, control.carried + control.sliced);
      check(control.operands[i], is_row_major ? control.operands[i].bytes : 0, false);
    }
    for (const ControlPiece& piece : control.results) check(piece, piece.bytes, true);
    for (const ControlBody& body : control.bodies)
      for (std::uint32_t argument : body.packed) require_number(argument, slots.size(), "argument");
  }

  void check_slot(const ArgumentSlot& slot, bool is_pointer) const {
    require(is_pointer == (slot.kind != SlotKind::number),
            is_pointer ? "an argument is a number, and must be memory"
                       : "an argument is memory, and must be a number");
    require(slot.bytes >= 0, "an argument has ", slot.bytes, " bytes");
    switch (slot.kind) {
      case SlotKind::number: return;
      case SlotKind::input: return check_input(slot);
      case SlotKind::output:
        require_number(slot.index, run_.output_bytes.size(), "output buffer");
        return check_inside(slot, 0, run_.output_bytes[slot.index], "an output buffer");
      case SlotKind::constant:
        require_number(slot.index, own_.constants.size(), "constant");
        require(!slot.is_written, "it writes to a constant");
        return check_inside(slot, 0, std::ssize(contents_.blobs[own_.constants[slot.index]].bytes),
                            "a constant");
      case SlotKind::arena: return check_inside(slot, slot.offset, run_.arena_bytes, "the arena");
    }
  }

  void check_input(const ArgumentSlot& slot) const {
    require_number(slot.index, inputs_.size(), "input");
    const InputRule& rule = inputs_[slot.index];
    require(rule.is_there, "it uses input ", slot.index, ", which has no memory");
    require(rule.may_be_written || !slot.is_written, "it writes to input ", slot.index,
            ", which is only read");
    require(rule.bytes < 0 || slot.bytes <= rule.bytes, "it takes ", slot.bytes, " bytes of input ",
            slot.index, ", which has ", rule.bytes);
  }

  void check_inside(const ArgumentSlot& slot, std::int64_t begin, std::int64_t end,
                    const char* what) const {
    require(begin >= 0 && begin <= end && slot.bytes <= end - begin, "it takes ", slot.bytes,
            " bytes of ", what, " from ", begin, " on, which has ", end);
    if (slot.is_written || slot.kind == SlotKind::constant) return;
    const auto known = written_.find(key_of(slot));
    require(slot.bytes == 0 ||
                (known != written_.end() && known->second.has(begin, begin + slot.bytes)),
            "it reads bytes ", begin, " to ", begin + slot.bytes, " of ", what,
            ", which no step before it has written");
  }

  static std::int64_t key_of(const ArgumentSlot& slot) {
    return slot.kind == SlotKind::arena ? -1 : std::int64_t{slot.index};
  }
  void note_written(const ArgumentSlot& slot) {
    if (!slot.is_written || (slot.kind != SlotKind::arena && slot.kind != SlotKind::output)) return;
    const std::int64_t begin = slot.kind == SlotKind::arena ? slot.offset : 0;
    written_[key_of(slot)].add(begin, begin + slot.bytes);
  }

  const PackageContents& contents_;
  const PackageExecutable& own_;
  const Executable& run_;
  std::span<const InputRule> inputs_;
  std::map<std::int64_t, WrittenBytes> written_;  // -1: of the arena; otherwise of an output buffer
};

// The bytes of a result of a body.
std::int64_t bytes_of(const ControlBody::Result& result) {
  for (std::int64_t size : result.shape)
    require(size >= 0, "a result has the impossible shape ", result.shape);
  std::int64_t bytes = 0;
  require(!__builtin_mul_overflow(element_count(result.shape), size_bytes(result.dtype), &bytes),
          "a result has the impossible shape ", result.shape);
  return bytes;
}

class ControlRules {
 public:
  ControlRules(const PackageContents& contents, const PackageControlFlow& own)
      : contents_(contents), own_(own), control_(own.control) {}

  void check() const {
    check_counts();
    for (const auto* pieces : {&control_.operands, &control_.results})
      for (const ControlPiece& piece : *pieces)
        require(piece.offset >= 0 && piece.bytes >= 0, "a value has ", piece.bytes, " bytes from ",
                piece.offset, " on");
    for (std::size_t i = 0; i < own_.bodies.size(); ++i) check_body(i);
    switch (control_.kind) {
      case ControlKind::cond: return check_cond();
      case ControlKind::while_loop: return check_while();
      case ControlKind::scan: return check_scan();
    }
  }

 private:
  void check_counts() const {
    const std::size_t bodies = control_.kind == ControlKind::scan ? 1 : 2;
    require(own_.bodies.size() == bodies && control_.bodies.size() == bodies, "it has ",
            own_.bodies.size(), " bodies, and must have ", bodies);
    const std::int64_t operands = std::ssize(control_.operands);
    require(control_.carried >= 0 && control_.carried <= operands && control_.sliced >= 0 &&
                control_.sliced <= operands - control_.carried && control_.turns >= 0,
            "it carries ", control_.carried, " values and slices ", control_.sliced, " of ",
            operands, ", in ", control_.turns, " turns");
    const std::size_t first = control_.kind == ControlKind::cond ? 1 : 0;
    require(control_.operands.size() >= first, "a choice has no condition");
    for (const ControlBody& body : control_.bodies)
      require(body.inputs == control_.operands.size() - first, "a body has ", body.inputs,
              " inputs, and must have ", control_.operands.size() - first);
  }

  void check_body(std::size_t number) const {
    require_number(own_.bodies[number], contents_.executables.size(), "executable");
    const PackageExecutable& executable = contents_.executables[own_.bodies[number]];
    const ControlBody& body = control_.bodies[number];
    std::vector<InputRule> inputs(body.inputs + body.packed.size(), InputRule{true});
    for (std::size_t i = 0; std::cmp_less(i, control_.carried) && i < control_.results.size(); ++i)
      if (is_updated_in_place(control_, i)) inputs[i] = {true, true, control_.operands[i].bytes};
    check_executable(contents_, executable, inputs);
    require(executable.run.results.size() == body.results.size(), "a body has ",
            executable.run.results.size(), " results, and must have ", body.results.size());
    std::vector<bool> has_place(executable.run.output_bytes.size());
    for (std::size_t i = 0; i < body.results.size(); ++i) {
      const ControlBody::Result& result = body.results[i];
      const std::int64_t bytes = bytes_of(result);
      require(result.strides.empty() || result.strides.size() == result.shape.size(),
              "a result of ", result.shape.size(), " axes has ", result.strides.size(), " strides");
      const auto buffer = executable.run.results[i];
      require(buffer || result.input, "a result has no memory");
      if (!buffer) {
        require_number(*result.input, body.inputs, "input");
        continue;
      }
      require(executable.run.output_bytes[*buffer] == bytes, "a result has ", bytes,
              " bytes, and its buffer ", executable.run.output_bytes[*buffer]);
      has_place[*buffer] = true;
    }
    require(std::ranges::find(has_place, false) == has_place.end(),
            "an output buffer of a body is no result");
  }

  void require_bytes(std::size_t body, std::size_t result, std::int64_t bytes) const {
    require(bytes_of(control_.bodies[body].results[result]) == bytes, "result ", result,
            " of a body has ", bytes_of(control_.bodies[body].results[result]),
            " bytes, and its place ", bytes);
  }
  void require_results(std::size_t body, std::size_t count) const {
    require(control_.bodies[body].results.size() == count, "a body has ",
            control_.bodies[body].results.size(), " results, and must have ", count);
  }
  void check_cond() const {
    require(control_.operands[0].bytes >= 1, "a condition has no bytes");
    for (std::size_t body = 0; body < 2; ++body) {
      require_results(body, control_.results.size());
      for (std::size_t i = 0; i < control_.results.size(); ++i)
        require_bytes(body, i, control_.results[i].bytes);
    }
  }
  void check_while() const {
    require_results(0, 1);
    require_bytes(0, 0, 1);
    check_carried(1);
    require_results(1, static_cast<std::size_t>(control_.carried));
    require(control_.results.size() == static_cast<std::size_t>(control_.carried), "it has ",
            control_.results.size(), " results, and carries ", control_.carried, " values");
  }
  void check_carried(std::size_t body) const {
    const auto carried = static_cast<std::size_t>(control_.carried);
    require(control_.bodies[body].results.size() >= carried && control_.results.size() >= carried,
            "it carries ", carried, " values, of which a body gives ",
            control_.bodies[body].results.size());
    for (std::size_t i = 0; i < carried; ++i) {
      require_bytes(body, i, control_.operands[i].bytes);
      require_bytes(body, i, control_.results[i].bytes);
    }
  }
  void check_scan() const {
    check_carried(0);
    require_results(0, control_.results.size());
    for (std::size_t i = static_cast<std::size_t>(control_.carried); i < control_.results.size();
         ++i) {
      std::int64_t bytes = 0;
      require(!__builtin_mul_overflow(bytes_of(control_.bodies[0].results[i]), control_.turns,
                                      &bytes) &&
                  bytes == control_.results[i].bytes,
              "result ", i, " of a scan has ", control_.results[i].bytes, " bytes, of ",
              control_.turns, " turns of ", bytes_of(control_.bodies[0].results[i]));
    }
  }

  const PackageContents& contents_;
  const PackageControlFlow& own_;
  const ControlFlow& control_;
};

}  // namespace

void check_executable(const PackageContents& contents, const PackageExecutable& executable,
                      std::span<const InputRule> inputs) {
  ExecutableRules(contents, executable, inputs).check();
}

void check_control_flow(const PackageContents& contents, const PackageControlFlow& control) {
  ControlRules(contents, control).check();
}

void check_depth(const PackageContents& contents) {
  std::vector<int> depth(contents.executables.size());
  for (std::size_t i = 0; i < depth.size(); ++i)
    for (const PackageKernelUse& use : contents.executables[i].kernels) {
      if (use.kind != PackageKernelUse::Kind::control_flow) continue;
      require_number(use.index, contents.control_flow.size(), "control flow");
      for (std::uint32_t body : contents.control_flow[use.index].bodies) {
        require(body < i, "executable ", i, " contains executable ", body,
                " as a body, which must come before it");
        depth[i] = std::max(depth[i], depth[body] + 1);
      }
    }
  for (int each : depth)
    require(each <= most_depth, each, " bodies lie in each other, of at most ", most_depth);
}

void check_use(const PackageContents& contents) {
  std::vector<bool> is_used(contents.executables.size());
  for (const PackageFunction& function : contents.functions)
    if (function.executable < is_used.size()) is_used[function.executable] = true;
  for (const PackageControlFlow& control : contents.control_flow)
    for (std::uint32_t body : control.bodies)
      if (body < is_used.size()) is_used[body] = true;
  require(std::ranges::find(is_used, false) == is_used.end(), "an executable is used by nothing");
}

}  // namespace tilewright
