// PTX that the author of a kernel wrote (`inline_asm`), on its way into a module.
//
// As device operations do (device_ops.h), it stands there as calls of a function without a body,
// @td.inline_asm.<n>, until the consumer of the module is known: NVPTX gets the PTX itself, the
// emulator the meaning that the kernel gives for the PTX. The function takes the registers of that
// meaning and then those that the PTX reads, and gives the registers of one result.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "dsl/assembly/assembly.h"

namespace tilewright::dsl {

// The type of a register that a constraint's letter names.
llvm::Type* register_type(llvm::LLVMContext& context, char letter);

// Declares a function for this PTX, whose result and operands are registers of those letters.
// `place` is the user's line and `kernel` its kernel's name, for messages.
llvm::FunctionCallee inline_asm_op(llvm::Module& module, const ir::Assembly& assembly,
                                   const std::string& result, const std::string& operands,
                                   const std::string& place, const std::string& kernel);

// After either, no such call is left. Calls of pure PTX that are equal are one for LLVM's passes,
// as those for two results of the same are.
void expand_inline_asm(llvm::Module& module);
// Raises `Error` with line and kernel where there is no meaning.
void take_meanings_of_inline_asm(llvm::Module& module);

}  // namespace tilewright::dsl
