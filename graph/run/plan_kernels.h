// The programs of a plan as kernels of its executable: compiled, or interpreted on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/launch/device.h"
#include "graph/ir/options/first_code.h"
#include "runtime/base/hash.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

using ProgramFunction = std::shared_ptr<const ir::Function>;

// How the steps of a plan use one of its programs.
struct ProgramUse {
  HostCall call;               // what runs instead of code for the function; none: code does
  Hash content;                // of the function, where code does
  std::int64_t batch = 1;      // grids in the largest step of it
  bool runs_alone = false;     // some step has one grid
  double compile_seconds = 0;  // that code generation took, written by compile_kernels
};

// Code for one grid, for several as one, or for both, as `uses` says of each function. Begins the
// full code of kernels that run quick code. Raises the first error of code generation.
std::vector<ExecutableKernel> compile_kernels(std::span<const ProgramFunction> functions,
                                              std::span<ProgramUse> uses, const Device& device,
                                              FirstCode first_code);

// Kernels that call the interpreter; with a seed the programs of a grid come in its order.
std::vector<ExecutableKernel> interpreted_kernels(std::span<const ProgramFunction> functions,
                                                  std::span<const ProgramUse> uses,
                                                  std::optional<std::uint64_t> seed);

}  // namespace tilewright::graph
