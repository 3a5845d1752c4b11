// Runs GPU kernels on the host: the same LLVM IR, with the device operations in C++.
//
// A kernel comes as it was generated for NVPTX, with its @td calls not yet expanded. It is
// rewritten in three ways and linked into the process: properties of NVPTX (calling convention,
// attributes) are dropped; each call of a device operation becomes a call into the emulator
// (dsl/emulator), and each load and store of shared memory is preceded by a check. Address spaces
// stay as they are, for the host takes them all as one memory. The threads of a block run as fibers
// of one thread of the host, with those of the other blocks of its cluster; clusters of one launch
// may run on many threads.
//
//   EmulatedLaunch run = link_emulated(std::move(module), std::move(context), "sum",
//                                      {.threads = 128, .shared_bytes = 4096});
//   std::int64_t grid[3] = {8, 1, 1};
//   run(arguments, grid, 0, 8);    // EmulationFault if the kernel does what a GPU would not
//   forgive
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/emulator/options.h"
#include "runtime/artifact.h"
#include "runtime/tensor_map.h"

namespace tilewright::dsl {

using emulator::AccessReport;
using emulator::EmulationFault;
using emulator::EmulatorOptions;
using emulator::GlobalRanges;

struct KernelShape {
  int threads;  // of a block, a multiple of 32 up to 1024
  std::int64_t shared_bytes;
  int cluster = 1;  // blocks that run together, neighbours along axis 0: 1, 2, 4 or 8
};

// Takes the kernel `entry` of the module; the result (runtime/artifact.h) is thread safe. Raises
// `Error` if it uses features that the emulator lacks.
EmulatedLaunch link_emulated(std::unique_ptr<llvm::Module> module,
                             std::unique_ptr<llvm::LLVMContext> context, const std::string& entry,
                             const KernelShape& shape, EmulatorOptions options = {});

// A launch of a persistent kernel (gpu_code.h) from one of its blocks: makes the tensor maps, and
// has half as many blocks as programs, in whole clusters, so that each goes from one program to the
// next.
EmulatedLaunch persistent_launch(EmulatedLaunch kernel, std::vector<ArtifactParam> params,
                                 std::vector<TensorMapSpec> maps, int cluster = 1);

}  // namespace tilewright::dsl
