// Runs a kernel by the definition of the language, one element after the other on the host, and
// shows the steps: for the author of a kernel that gives wrong numbers (docs/debugging_kernels.md).
//
//   interpret(softmax, rows, {x, y, n, 128},
//             {.observer = [](const TraceStep& step) {
//                std::cout << step.place << ": " << step.text << " = "
//                          << step.results[0].summary() << '\n';
//              },
//              .watch = "scores"});
//
// It is thousands of times slower than compiled code; small sizes show the same mistakes. Accesses
// outside of memory whose size the launch knows are Errors; more is looked at where it is asked
// for.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/debugger/tile_view.h"
#include "dsl/language/kernel.h"

namespace tilewright::ir {
struct Function;
struct Inst;
}  // namespace tilewright::ir

namespace tilewright::dsl {

// One instruction of one program that has been run. Valid for as long as the call it is given to.
struct TraceStep {
  std::array<std::int64_t, 3> program;      // its place in the grid
  std::int64_t number;                      // how many instructions the program had run before
  std::int64_t turn;                        // how often it had run this one before, as in a loop
  std::size_t instruction;                  // its place in the text, counted over all blocks
  std::string_view text;                    // "%7.scores = exp %6 : f32[4x8]"
  std::string_view name;                    // of a result, as `named` has it; else ""
  std::string_view place;                   // "softmax.cpp:12", the user's line
  const ir::Inst& inst;                     // its op and its line (dsl/ir/function.h)
  std::vector<TileView> operands, results;  // empty of loops: operands
};
// May raise `Error`, which ends the run.
using TraceObserver = std::function<void(const TraceStep&)>;

struct InterpretOptions {
  // Called after each instruction; a loop comes after all its turns.
  TraceObserver observer = {};
  // Limits the report to instructions with a result of this name, and to one program. "" and
  // nothing: all. A name or a program that is not there is an Error.
  std::string watch = {};
  std::optional<std::array<std::int64_t, 3>> program = {};

  // Further conditions that end the run with an `Error` that names the kernel's line, the program
  // and values:
  //   races      two programs touch one element, one of them writes, and not both by atomics; or a
  //              store writes an element twice with different values
  //   nans       an instruction makes a NaN of operands that have none
  //   unwritten  reads of what the kernel itself has not written, of the memory of these
  //   parameters:
  //              as of a result whose memory holds anything at the launch
  //   complete   elements of these parameters that no program has written in the end; the lines are
  //              those that write others of them
  bool races = false, nans = false;
  std::vector<std::string> unwritten = {}, complete = {};
};

// Runs all programs of the grid in order. Arguments are those of `launch`, with the same rules, and
// memory is written as by a launch; a GPU's is copied to the host and back. Raises `Error`, which
// names the kernel's line and that of this call. Thread safe as far as the observer is.
void interpret(const Kernel& kernel, const LaunchGrid& grid, LaunchArguments arguments,
               const InterpretOptions& options = {});
void interpret(const Kernel& kernel, const LaunchGrid& grid,
               std::initializer_list<LaunchArgument> arguments,
               const InterpretOptions& options = {});
// The text of the program that such a launch on the host interprets, for `tilewright kernel run`
// and `tilewright opt`. Names of `named` are in it, lines are not.
std::string program_text(const Kernel& kernel, LaunchArguments arguments);
std::string program_text(const Kernel& kernel, std::initializer_list<LaunchArgument> arguments);
// A program, as of Kernel::trace or read as text, which has no constexprs: an argument for each of
// its parameters.
void interpret(const ir::Function& program, const Grid& grid, LaunchArguments arguments,
               const InterpretOptions& options = {});

}  // namespace tilewright::dsl
