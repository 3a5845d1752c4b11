// The build of the compiler that this is: the part of every key of what is kept from process to
// process that changes whenever generated code may change.
#pragma once

#include <string_view>

namespace tilewright::dsl {

struct CompilerIdentity {
  std::string_view version, llvm;
  std::string_view
      sources;  // hash of everything between a graph and machine code, and of its build
};

CompilerIdentity compiler_identity();

}  // namespace tilewright::dsl
