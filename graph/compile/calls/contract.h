// The contract of compile() for a call that fits no plan: it is reported, counted, and never
// silent.
//
// A compiled function keeps a plan for each call signature. A call that fits none of them is a
// recompilation, and three things are the user's to know and to decide:
//
//   * why: every recompilation has a record with a typed reason and a sentence, `argument 0: axis 1
//     is 4, compiled for 3`. `CompiledFunction::recompilations()` gives the latest ones,
//     TILEWRIGHT_LOG=recompiles prints them as they happen.
//   * whether: a `Stance` holds for all compiled functions of the process. A server that has warmed
//     up sets `fail_on_recompile` or `eager_on_recompile` and never waits for a compiler again.
//   * how many: past `Options::max_signatures` a call is an Error, runs op by op, or takes the
//     place of the plan that was used least recently, by `Options::past_limit`.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

enum class RecompileReason : std::uint8_t {
  argument_count,
  dtype,
  rank,
  size,
  static_size,  // of an axis that is marked static (size_marks.h)
  strides,
  device,
  alignment,  // of an argument's memory
  guard,      // a `Guarded` value that the function read is another one
  handle,     // a tensor that the function uses stands for something else, and the graph differs
  structure,  // sizes, keys or what is present in an argument (structure.h)
  value       // a number, a flag, an enumerator or a string among the arguments is another one
};
std::string_view name_of(RecompileReason reason);

// One thing that sets a call apart from what a plan was compiled for.
struct Difference {
  RecompileReason reason;
  int argument = -1, axis = -1;  // -1: it is none of an argument's, or of an axis
  std::string found;             // "argument 0: axis 1 is 4"
  std::string expected;          // "3"
  std::optional<std::source_location> where =
      {};                        // a guard's: the user's line that reads the value
  bool is_declared = false;      // a size, of an axis that was declared to change
  std::string sentence() const;  // "argument 0: axis 1 is 4, compiled for 3"
};

// Why a function was compiled once more. `differences` are those from the plan that is nearest to
// the call, the one with the fewest.
struct Recompilation {
  std::string signature;  // of the call, "f32 10x10, i64 1"
  std::vector<Difference> differences;
  double seconds = 0;            // that it took
  std::string sentence() const;  // all of them
};

// How compiled functions treat a call that fits no plan, everywhere in the process. Declared sizes
// (mark_dynamic) are planned as they come, whatever the stance; the first size of a new class also
// compiles the programs of that class.
enum class Stance : std::uint8_t {
  compile,             // compile it: the default
  force_eager,         // run all calls op by op, also those that a plan fits
  eager_on_recompile,  // run those that no plan fits op by op
  fail_on_recompile,   // those are an Error, also the first call of a function
  eager_then_compile   // the first call of each function runs op by op
};
std::string_view name_of(Stance stance);     // "compile", "force_eager", ...
Stance parse_stance(std::string_view name);  // raises `Error` listing the names
// Thread safe; holds for calls that begin afterwards. Raises `Error` inside a captured function.
void set_stance(Stance stance);
Stance stance();

// A stance for as long as the scope lasts.
class StanceScope {
 public:
  explicit StanceScope(Stance stance) : former_(tilewright::stance()) { set_stance(stance); }
  ~StanceScope();
  StanceScope(const StanceScope&) = delete;
  StanceScope& operator=(const StanceScope&) = delete;

 private:
  Stance former_;
};

// The treatment of a call that has one signature more than `Options::max_signatures`.
enum class PastLimit : std::uint8_t {
  error,          // raises `Error`, which names what differs from each
  eager,          // runs op by op; stderr says so once a function
  replace_oldest  // is compiled, in place of the plan that was used least recently
};

namespace graph {
// The topics of TILEWRIGHT_LOG. Unknown words are named on stderr, once, with the known ones.
enum class LogTopic : std::uint8_t { recompiles, breaks, guards, fusion };
bool is_logged(LogTopic topic);
// A line, or several, on stderr: "tilewright: [compile] ...".
void log_line(const std::string& text);
}  // namespace graph

}  // namespace tilewright
