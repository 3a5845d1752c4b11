// From a function of tile IR to code for a GPU: the module, its PTX, or a launch in the emulator.
#pragma once

#include <memory>
#include <string>

#include "dsl/ir/function.h"
#include "dsl/target.h"
#include "runtime/artifact.h"

namespace tilewright::dsl::gpu {

// What a launch must know besides the code.
struct Ptx {
  std::string text;
  std::string entry;
  int threads;                // of a block
  std::int64_t shared_bytes;  // of a block, allocated at launch
};

// The function must have been through the passes. Raises `Error` for what GPUs cannot do, naming
// the user's line. Thread safe.
Ptx generate_ptx(const ir::Function& function, const Target& target);
// The same module as LLVM IR, as the emulator gets it.
std::string gpu_llvm_text(const ir::Function& function, const Target& target);
// Runs on the host, thread by thread.
std::shared_ptr<const Artifact> generate_emulated(const ir::Function& function,
                                                  const Target& target);

}  // namespace tilewright::dsl::gpu
