// LLVM's NVPTX back end: from a kernel's LLVM IR, with device operations expanded, to PTX.
//
// It runs the instruction selector and the passes that it needs, and leaves out most others that
// LLVM runs there by default: ptxas optimizes PTX once more as a whole, and passes that find
// nothing in our kernels take most of the time (straight-line strength reduction alone half of
// attention's). The selector itself skips its default combinations, for the same reason.
//
// Registers that are copied into each other mostly become one. ptxas does so too, but gives some
// kernels up to a third more registers if it has to, and the sums of a product that is under way at
// the end of a loop's turn must be in the same registers before and after, or it waits for each
// product (C7514). Kernels with roles have their registers given, so that those of them without
// such sums save the tenth of the time that it takes.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

std::unique_ptr<llvm::TargetMachine> nvptx_machine(const Target& target);

// The module is used up. `joins_copies`: registers that are copied into each other become one.
std::string ptx_text(llvm::Module& module, llvm::TargetMachine& machine, bool joins_copies);

}  // namespace tilewright::dsl::gpu
