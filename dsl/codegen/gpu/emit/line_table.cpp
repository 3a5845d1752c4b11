#include "dsl/codegen/gpu/emit/line_table.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Module.h>

namespace tilewright::dsl::gpu {

LineTable::LineTable(llvm::Module& module, llvm::Function& kernel) : builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIFile* none = file("tilewright");
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus, none, "tilewright", true, "", 0, "",
                             llvm::DICompileUnit::DebugDirectivesOnly);
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  kernel_ =
      builder_.createFunction(none, kernel.getName(), kernel.getName(), none, 1, type, 1,
                              llvm::DINode::FlagPrototyped, llvm::DISubprogram::SPFlagDefinition);
  kernel.setSubprogram(kernel_);
}

llvm::DIFile* LineTable::file(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return builder_.createFile(path, ".");
  return builder_.createFile(path.substr(slash + 1), path.substr(0, slash));
}

llvm::DebugLoc LineTable::at(const std::source_location& where) {
  if (where.line() == 0) return {};
  std::string path = where.file_name();
  llvm::DILexicalBlockFile*& scope = scopes_[path];
  if (scope == nullptr) scope = builder_.createLexicalBlockFile(kernel_, file(path));
  return llvm::DILocation::get(kernel_->getContext(), where.line(), where.column(), scope);
}

}  // namespace tilewright::dsl::gpu
