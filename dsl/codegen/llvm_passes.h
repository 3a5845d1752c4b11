// Running LLVM's passes over a module, by the text of a pipeline.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

namespace tilewright::dsl {

// Raises InternalError, with the verifier's words, for a module that is not well-formed; `name` is
// what the message calls it. `machine` may be null.
void run_llvm_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* pipeline,
                     const std::string& name);

}  // namespace tilewright::dsl
