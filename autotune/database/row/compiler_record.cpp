#include "autotune/database/row/compiler_record.h"

#include <compiler_build.h>  // written by the build: cmake/compiler_build.cmake

namespace tilewright::autotune {

const Record& compiler_record() {
  static const Record record = Record()
                                   .set("version", TILEWRIGHT_VERSION)
                                   .set("llvm", TILEWRIGHT_LLVM_VERSION)
                                   .set("sources", TILEWRIGHT_COMPILER_SOURCES);
  return record;
}

}  // namespace tilewright::autotune
