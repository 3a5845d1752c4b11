// The one door from a traced program to code that runs: passes, then code generation.
//
// Compiled kernels are found again by the content of the program and the target: compiling an equal
// program twice costs a look-up, and for a host, whose code is kept in the cache folder, in another
// process a read of a file (kept_objects.h). The holder of a kernel owns it. Besides, those that
// were asked for last are kept, within the bounds of runtime/kept/bounds.h; the others are unloaded
// when their last owner goes.
#pragma once

#include <memory>
#include <string>

#include "dsl/codegen/host/code_tier.h"
#include "dsl/launch/device.h"
#include "runtime/artifact.h"

namespace tilewright::ir {
struct Function;
}  // namespace tilewright::ir

namespace tilewright::dsl {

struct CompileStatistics {
  std::int64_t compiled = 0;              // programs that went through code generation
  std::int64_t loaded = 0;                // programs whose code an earlier process had kept
  std::int64_t quick = 0;                 // of both, those whose code was quick at first
  std::int64_t found = 0;                 // requests answered from the table
  double seconds = 0;                     // spent on both, summed over threads
  std::int64_t kept = 0, kept_bytes = 0;  // kernels that are kept, and their code
  std::int64_t alive = 0;                 // kernels that are kept or that somebody has
  // The name of the program whose passes and code generation took the most time of a processor.
  std::string longest;
  double longest_processor_seconds = 0;
};

// Thread safe. Raises `Error` where the program does not verify. With `launches`, compiles that
// many launches as one (runtime/artifact.h); `most_launches` says how many a program's code can
// take. Quick code is for hosts, and for kernels that are not compiled yet; its full code waits for
// `begin_full_code` (full_code.h). Asked for full code, generates it where it waits.
std::shared_ptr<const Artifact> compile(const ir::Function& function,
                                        const Device& device = Device::cpu(),
                                        std::size_t launches = 0, CodeTier tier = CodeTier::full);
std::size_t most_launches(const ir::Function& function, const Device& device);
// For launches that know their memory: on an emulated device each access of global memory is looked
// up (emulator/known_memory.h). Elsewhere as `compile`.
std::shared_ptr<const Artifact> compile_watched(const ir::Function& function, const Device& device);
// For a processor by name: a GPU's code runs in the emulator, on the host's memory.
std::shared_ptr<const Artifact> compile(const ir::Function& function, const Target& target);
// The size of a kernel's code: a host's in memory, a GPU's as text; the emulator's is unknown,
// which is 0.
std::int64_t code_bytes(const Artifact& artifact);
CompileStatistics compile_statistics();

}  // namespace tilewright::dsl
