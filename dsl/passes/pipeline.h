// The passes over tile IR, as a table, and the one driver that runs them.
//
// A pass is a function `bool name(ir::Function&)` or `bool name(ir::Function&, const Target&)` that
// says whether it changed anything, in a file of its name. The table (pipeline.cpp) gives each its
// place; a second table gives constraints between them with reasons, checked once. The driver alone
// verifies after each pass, dumps, times, skips by name and stops after a name, so that bisecting a
// wrong result needs no code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/ir/verify.h"
#include "dsl/target/target.h"

namespace tilewright::dsl {

struct Pass {
  std::string_view name;
  bool (*run)(ir::Function& function, const Target& target);
  ir::Stage stage;        // of the function after it
  bool required;          // cannot be skipped
  std::string_view what;  // one line, for `tilewright opt --list`
};

struct PipelineOptions {
  Target target;                  // what the function will be compiled for: a host with AVX2
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
std::vector<PassTime> run_passes(ir::Function& function, std::span<const std::string> names,
                                 const Target& target = {});

}  // namespace tilewright::dsl
