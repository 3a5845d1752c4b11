// From a function of tile IR to code for a GPU: the module, its PTX, or a launch in the emulator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/emulator/options.h"
#include "dsl/ir/function.h"
#include "dsl/target.h"
#include "runtime/artifact.h"
#include "runtime/tensor_map.h"

namespace tilewright::dsl::gpu {

// What a launch must know besides the code.
//
// A kernel with roles (warp_roles.h) is persistent: it is launched with as many blocks as run at
// the same time, along axis 0, and takes after the program's arguments a tensor map for each of
// `tensor_maps` (128 bytes by value, aligned to 64), then the three sizes of the grid of programs
// (i32).
struct Ptx {
  std::string text;
  std::string entry;
  int threads;                // of a block
  std::int64_t shared_bytes;  // of a block, allocated at launch
  bool persistent = false;
  std::vector<TensorMapSpec> tensor_maps;
};

// The function must have been through the passes. Raises `Error` for what GPUs cannot do, naming
// the user's line. Thread safe.
Ptx generate_ptx(const ir::Function& function, const Target& target);
// The same module as LLVM IR, as the emulator gets it.
std::string gpu_llvm_text(const ir::Function& function, const Target& target);

// What generate_ptx gives, run by the emulator: `run` takes the arguments that the PTX takes, a
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
};
EmulatedPtx emulate_ptx(const ir::Function& function, const Target& target,
                        emulator::EmulatorOptions options = {});
// Runs on the host, thread by thread; launched as the program is, by its own grid and arguments.
std::shared_ptr<const Artifact> generate_emulated(const ir::Function& function,
                                                  const Target& target);

}  // namespace tilewright::dsl::gpu
