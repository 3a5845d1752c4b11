// The passes over tile IR, as tables, and the one driver that runs them.
//
// A pass is a function `bool name(ir::Function&)` or `bool name(ir::Function&, const Target&)` that
// says whether it changed anything, in a file of its name. passes.def gives each its place; a table
// of constraints between them with reasons (pipeline.cpp) is checked once. There are three
// pipelines: `passes()` of every target, and those of hosts and of GPUs, which code generation runs
// (codegen/host/passes/host_pipeline.h, codegen/gpu/passes/gpu_pipeline.h) and which take a
// function through their stages. The driver alone verifies after each pass, dumps, times, skips by
// name and stops after a name, so that bisecting a wrong result needs no code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/ir/verify.h"
#include "dsl/passes/pass_time.h"
#include "dsl/target/target.h"

namespace tilewright::dsl {

struct Pass {
  std::string_view name;
  bool (*run)(ir::Function& function, const Target& target);
  ir::Stage from, to;     // stages of the function before and after it
  bool required;          // cannot be skipped
  std::string_view what;  // one line, for `tilewright opt --list`
};

struct PipelineOptions {
  Target target;                  // the target of the function: a host with AVX2
  std::vector<std::string> skip;  // also TILEWRIGHT_SKIP_PASSES=a,b
  std::string stop_after;         // also TILEWRIGHT_STOP_AFTER
  std::string dump;               // "", a pass's name, or "all"; also TILEWRIGHT_DUMP
  // The result becomes code: where a pass is the last, required ones still follow it.
  bool for_code = false;
};

std::span<const Pass> passes();                  // of every target
std::span<const std::string_view> pass_names();  // of all tables, in the order of passes.def
const Pass& pass_named(std::string_view name);   // of `passes()`; raises `Error` listing the names
// Runs a pipeline from the stage that the function is at: the standard one, or a table.
std::vector<PassTime> run_passes(ir::Function& function, const PipelineOptions& options = {});
std::vector<PassTime> run_passes(std::span<const Pass> table, ir::Function& function,
                                 const PipelineOptions& options);
// Runs the named passes in the given order.
std::vector<PassTime> run_passes(ir::Function& function, std::span<const std::string> names,
                                 const Target& target = {});
std::vector<PassTime> run_passes(std::span<const Pass* const> some, ir::Function& function,
                                 const Target& target);

// The function of a pass as a table has it: those that do the same for every target take none.
template <auto pass>
bool run_pass(ir::Function& function, const Target& target) {
  if constexpr (requires { pass(function, target); })
    return pass(function, target);
  else
    return pass(function);
}

}  // namespace tilewright::dsl
