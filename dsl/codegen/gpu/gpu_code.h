// From a function of tile IR to code for a GPU: the module, its PTX, or a launch in the emulator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/codegen/gpu/barrier_audit.h"
#include "dsl/emulator/options.h"
#include "dsl/target/target.h"
#include "runtime/artifact.h"
#include "runtime/gpu_code.h"
#include "runtime/launch_table.h"

namespace tilewright::ir {
struct Function;
}  // namespace tilewright::ir

namespace tilewright::dsl::gpu {

using Ptx = GpuCode;

// The function must have been through the passes. Raises `Error` for code that GPUs cannot run,
// naming the user's line. Thread safe.
Ptx generate_ptx(const ir::Function& function, const Target& target,
                 const std::optional<LaunchTable>& table = {});
// An artifact that runs on GPUs (runtime/cuda/launch.h). With a table it takes several launches at
// once (Artifact::table).
std::shared_ptr<const Artifact> generate_gpu_code(const ir::Function& function,
                                                  const Target& target,
                                                  const std::optional<LaunchTable>& table = {});
// For a program's code that takes the given number of launches at once, or as many as there is room
// for.
LaunchTable launch_table(const ir::Function& function, std::size_t launches);
// The function as the emitter gets it, after the GPU's passes (passes/gpu_pipeline.h).
ir::Function scheduled(const ir::Function& function, const Target& target, bool has_table = false);
// The same module as LLVM IR, as the emulator gets it.
std::string gpu_llvm_text(const ir::Function& function, const Target& target);

// The code of generate_ptx, run by the emulator: `run` takes the arguments that the PTX takes, a
// tensor map (dsl/emulator/tensor_map.h) by pointer, and the grid of blocks.
struct EmulatedPtx {
  EmulatedLaunch run;
  std::vector<ArtifactParam> params;  // of the program
  std::string entry;
  int threads;
  std::int64_t shared_bytes;
  int cluster = 1;  // blocks that run together
  bool persistent = false;
  std::vector<TensorMapSpec> tensor_maps;
  std::optional<LaunchTable>
      table;  // that it takes, by pointer, instead of the program's arguments
};
EmulatedPtx emulate_ptx(const ir::Function& function, const Target& target,
                        emulator::EmulatorOptions options = {},
                        const std::optional<LaunchTable>& table = {});
// Runs on the host, thread by thread; launched as the program is, by its own grid and arguments.
std::shared_ptr<const Artifact> generate_emulated(const ir::Function& function,
                                                  const Target& target,
                                                  emulator::EmulatorOptions options = {},
                                                  const std::optional<LaunchTable>& table = {});

// The operations that order the accesses of a kernel, each with the proof's objection to the kernel
// without it (barrier_proof.h): none, if the kernel does not need it.
BarrierAudit audit_barriers(const ir::Function& function, const Target& target);

}  // namespace tilewright::dsl::gpu
