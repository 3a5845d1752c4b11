// Control flow as plain data: a loop or a choice that is one step of an executable, and whose
// bodies are executables themselves.
//
// Carried values lie in two buffers in turn, of which one is the result's, or in one that the body
// updates in place, where operand and result are the same. Sliced values are read and written in
// place, and nothing is planned or looked up between two turns. A condition is read by the host: on
// a GPU each turn of a while loop waits for it, and a choice waits once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/plan/executable.h"

namespace tilewright {

// A choice has a condition before the inputs of its two bodies. A while loop has a condition and a
// body, both of which take all operands. A scan has one body, and a number of turns.
enum class ControlKind : std::uint8_t { cond, while_loop, scan };

// An operand or a result: where it lies among the arguments of the step.
struct ControlPiece {
  std::uint32_t argument = 0;
  std::int64_t offset = 0, bytes = 0;
  bool operator==(const ControlPiece&) const = default;
};

struct ControlBody {
  // A result is an output buffer of the executable, as its `results` say, or an input.
  struct Result {
    DType dtype = DType::f32;
    Shape shape;
    std::optional<std::uint32_t> input;  // that it is
    Strides strides;                     // of that input's elements; empty: row-major
    std::int64_t bytes() const { return element_count(shape) * size_bytes(dtype); }
  };
  std::shared_ptr<const Executable> run;
  std::uint32_t inputs =
      0;  // behind which the executable's inputs are these arguments of the step:
  std::vector<std::uint32_t> packed;
  std::vector<Result> results;
};

struct ControlFlow {
  ControlKind kind = ControlKind::cond;
  std::vector<ControlPiece> operands, results;
  std::vector<ControlBody> bodies;
  DeviceMemory* memory = nullptr;  // where everything lies; null: the host's
  std::int64_t carried = 0, sliced = 0, turns = 0;
  bool descending = false;
};

// True if this carried value of a scan lies in one place from the first turn to the last.
bool is_updated_in_place(const ControlFlow& control, std::size_t carried);

// The size of the one block of memory that a run of the step takes, besides those of control flow
// in its bodies.
std::int64_t bytes_of_run(const ControlFlow& control);

// Runs the step on its arguments. Thread safe.
void run_control_flow(const ControlFlow& control, const Argument* arguments);

}  // namespace tilewright
