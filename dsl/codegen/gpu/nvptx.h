// LLVM's NVPTX back end: from a kernel's LLVM IR, with device operations expanded, to PTX.
//
// It runs the instruction selector and what must stand around it, and leaves out most of what LLVM
// does there by default: ptxas optimizes PTX once more as a whole, and passes that find nothing in
// our kernels take most of the time (straight-line strength reduction alone half of attention's).
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "dsl/target.h"

namespace tilewright::dsl::gpu {

std::unique_ptr<llvm::TargetMachine> nvptx_machine(const Target& target);

// The module is used up.
std::string ptx_text(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tilewright::dsl::gpu
