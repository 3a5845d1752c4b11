#include "autotune/database/row/compiler_record.h"

#include "dsl/launch/compiler_identity.h"

namespace tilewright::autotune {

const Record& compiler_record() {
  static const Record record = [] {
    const dsl::CompilerIdentity identity = dsl::compiler_identity();
    return Record()
        .set("version", std::string(identity.version))
        .set("llvm", std::string(identity.llvm))
        .set("sources", std::string(identity.sources));
  }();
  return record;
}

}  // namespace tilewright::autotune
