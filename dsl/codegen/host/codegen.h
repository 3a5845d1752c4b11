// The wall around LLVM: a function of tile IR goes in, host code comes out. No header of LLVM is
// included outside this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsl/codegen/host/code_tier.h"
#include "dsl/ir/function.h"
#include "dsl/target/target.h"
#include "runtime/artifact.h"

namespace tilewright::dsl {

// Generated code as bytes: a relocatable ELF object, equal in every process for an equal function
// and target.
struct HostObject {
  std::vector<char> bytes;
  std::int64_t scratch_bytes = 0;  // that a worker needs while it runs
};

// True if quick code of the function differs from full code. Kernels that use AMX have none, since
// LLVM allocates its registers otherwise without optimisation.
bool has_quick_code(const ir::Function& function, const Target& target);

// Generates code for a verified function. Thread safe.
HostObject generate_host_object(const ir::Function& function, const Target& target,
                                CodeTier tier = CodeTier::full);
// The kernel of an object, which is that of the function: its names and parameters are the
// artifact's. Thread safe; uses no LLVM.
std::shared_ptr<const Artifact> load_host_object(const ir::Function& function,
                                                 const HostObject& object);
// Both.
std::shared_ptr<const Artifact> generate_host_code(const ir::Function& function,
                                                   const Target& target);
std::int64_t host_code_bytes(const Artifact& artifact);  // 0 if it is not code of the host
// The LLVM IR ("llvm", after optimisation) or assembly ("asm") of a function, for people to read.
std::string host_code_text(const ir::Function& function, const Target& target,
                           const std::string& form);

}  // namespace tilewright::dsl
