// The passes over tile IR, as a table, and the one driver that runs them.
//
// A pass is a function `bool name(ir::Function&)` that says whether it changed anything, in a file
// of its name. The table (pipeline.cpp) gives each its place; a second table gives constraints
// between them with reasons, checked once. The driver alone verifies after each pass, dumps, times,
// skips by name and stops after a name, so that bisecting a wrong result needs no code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/ir/verify.h"

namespace tilewright::dsl {

enum class Machine : std::uint8_t { any, host, avx512, gpu };  // `avx512`: a host that has it

struct Pass {
  std::string_view name;
  bool (*run)(ir::Function& function);
  ir::Stage stage;        // of the function after it
  bool required;          // cannot be skipped
  Machine machine;        // whose pipeline it belongs to
  std::string_view what;  // one line, for `tilewright opt --list`
};

struct PipelineOptions {
  Machine machine = Machine::host;
  std::vector<std::string> skip;  // also TILEWRIGHT_SKIP_PASSES=a,b
  std::string stop_after;         // also TILEWRIGHT_STOP_AFTER
  std::string dump;               // "", a pass's name, or "all"; also TILEWRIGHT_DUMP
};

struct PassTime {
  std::string_view name;
  double seconds;
  bool changed;
};

std::span<const Pass> passes();
const Pass& pass_named(std::string_view name);  // raises `Error` listing the names
// Runs the standard pipeline, or the named passes in the given order.
std::vector<PassTime> run_passes(ir::Function& function, const PipelineOptions& options = {});
std::vector<PassTime> run_passes(ir::Function& function, std::span<const std::string> names);

}  // namespace tilewright::dsl
