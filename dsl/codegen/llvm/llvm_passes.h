// Checking a module, and running LLVM's passes over it by the text of a pipeline.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

namespace tilewright::dsl {

// Raises InternalError, with the verifier's words, for a module that is not well-formed; `name` is
// its name in the message. Once after emission is enough: it costs as much as a pass.
void verify_llvm(const llvm::Module& module, const std::string& name);

// `machine` may be null.
void run_llvm_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* pipeline);

}  // namespace tilewright::dsl
