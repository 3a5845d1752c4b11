// The rewrite of a GPU kernel into a module for the host, which calls the emulator.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "dsl/emulator/cluster.h"

namespace tilewright::dsl {

// Changes the module's @td calls and checked accesses into calls of the emulator, whose sites are
// added to `kernel`; drops properties of NVPTX; adds the function `body`, which takes the pointer
// to the arguments and calls `entry`. Before: triple and data layout are the host's. After: the
// module verifies, and `body` is its one external definition. Raises `Error` for code that cannot
// be emulated.
void rewrite_for_host(llvm::Module& module, const std::string& entry, const std::string& body,
                      emulator::EmulatedKernel& kernel);

}  // namespace tilewright::dsl
