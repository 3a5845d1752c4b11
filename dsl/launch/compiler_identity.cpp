#include "dsl/launch/compiler_identity.h"

#include <compiler_build.h>  // written by the build: cmake/compiler_build.cmake

namespace tilewright::dsl {

CompilerIdentity compiler_identity() {
  return {TILEWRIGHT_VERSION, TILEWRIGHT_LLVM_VERSION, TILEWRIGHT_COMPILER_SOURCES};
}

}  // namespace tilewright::dsl
