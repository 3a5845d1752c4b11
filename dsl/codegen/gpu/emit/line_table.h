// The user's lines in generated code: which line of the kernel, or of the model that it was made
// from, an instruction comes from. In PTX they are .loc directives, which profilers and
// compute-sanitizer read; the emulator names them in its faults.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Function.h>

#include <map>
#include <source_location>
#include <string>

namespace tilewright::dsl::gpu {

class LineTable {
 public:
  // For the one kernel of a module.
  LineTable(llvm::Module& module, llvm::Function& kernel);
  // Nothing for a place that names no line, as in programs that were read from text.
  llvm::DebugLoc at(const std::source_location& where);
  void finish() { builder_.finalize(); }

 private:
  llvm::DIFile* file(const std::string& path);

  llvm::DIBuilder builder_;
  llvm::DISubprogram* kernel_;
  std::map<std::string, llvm::DILexicalBlockFile*> scopes_;  // by path
};

}  // namespace tilewright::dsl::gpu
