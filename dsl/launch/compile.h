// The one door from a traced program to code that runs: passes, then code generation.
//
// Compiled kernels are kept for the life of the process, found again by the content of the program
// and the target: compiling an equal program twice costs a look-up.
#pragma once

#include <memory>

#include "dsl/ir/function.h"
#include "dsl/target/device.h"
#include "runtime/artifact.h"

namespace tilewright::dsl {

struct CompileStatistics {
  std::int64_t compiled = 0;  // programs that went through code generation
  std::int64_t found = 0;     // requests answered from the table
  double seconds = 0;         // spent in passes and code generation, summed over threads
};

// Thread safe. Raises `Error` where the program does not verify. With `launches`, for so many of
// them as one (runtime/artifact.h); `most_launches` says how many a program's code can take.
std::shared_ptr<const Artifact> compile(const ir::Function& function,
                                        const Device& device = Device::cpu(),
                                        std::size_t launches = 0);
std::size_t most_launches(const ir::Function& function, const Device& device);
// For launches that know their memory: on an emulated device each access of global memory is looked
// up (emulator/known_memory.h). Elsewhere as `compile`.
std::shared_ptr<const Artifact> compile_watched(const ir::Function& function, const Device& device);
// For a processor by name: what is a GPU's runs in the emulator, on the host's memory.
std::shared_ptr<const Artifact> compile(const ir::Function& function, const Target& target);
CompileStatistics compile_statistics();

}  // namespace tilewright::dsl
