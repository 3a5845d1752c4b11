// The wall around LLVM: a function of tile IR goes in, host code comes out. No header of LLVM is
// included outside this folder.
#pragma once

#include <memory>
#include <string>

#include "dsl/ir/function.h"
#include "dsl/target/target.h"
#include "runtime/artifact.h"

namespace tilewright::dsl {

// Generates and links code for a verified function. Thread safe.
std::shared_ptr<const Artifact> generate_host_code(const ir::Function& function,
                                                   const Target& target);
std::int64_t host_code_bytes(const Artifact& artifact);  // 0 if it is not code of the host
// The LLVM IR ("llvm", after optimisation) or assembly ("asm") of a function, for people to read.
std::string host_code_text(const ir::Function& function, const Target& target,
                           const std::string& form);

}  // namespace tilewright::dsl
