// The host's linker: from LLVM IR made for this processor to code in this process.
//
// Both the code of tile programs (host_code.cpp) and that of emulated GPU kernels
// (gpu/emulate.cpp) end here. A part of its own so that there is one linker a target, one list of
// what generated code may call, and one place where LLVM's errors become ours.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "dsl/target/target.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

// LLVM's errors become ours here and nowhere else.
template <typename T>
T value_of(llvm::Expected<T> expected, const char* action) {
  if (!expected)
    throw InternalError(concat("[codegen] ", action, ": ", llvm::toString(expected.takeError())));
  return std::move(*expected);
}
void expect_success(llvm::Error error, const char* action);

// Makes LLVM know the host. Thread safe; later calls do nothing.
void initialise_llvm();

// How code for a target of the host is generated.
llvm::orc::JITTargetMachineBuilder machine_builder(const Target& target);

// The code of a module, as an object file or as text. The module is used up.
llvm::SmallVector<char, 0> assemble(llvm::Module& module, llvm::TargetMachine& machine,
                                    llvm::CodeGenFileType form);

// The linker of one target, for the life of the process: code is never unloaded. Thread safe.
class Linker {
 public:
  explicit Linker(const Target& target);
  static Linker& of(const Target& target);

  // The address of `entry` in the object, whose exported names no other object may have.
  void* link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry);

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace tilewright::dsl
