// Full code for the kernels that run quick code.
//
// A first call runs quick code of many kernels (CodeTier). Their full code is generated on the
// thread of background jobs (runtime/background.h), in the order in which they were compiled, and
// takes the place of the quick code between two launches. Both compute the same bits. A kernel that
// nobody owns any more gets none.
#pragma once

#include <cstdint>
#include <memory>

#include "dsl/ir/function.h"
#include "dsl/target/target.h"
#include "runtime/artifact.h"

namespace tilewright::dsl {

// Remembers a kernel that runs the quick code of `function`, which is as it was before its passes.
// Thread safe, as all of these are.
void await_full_code(const std::shared_ptr<Artifact>& kernel, const ir::Function& function,
                     const Target& target);
// Starts the background job for the kernels that wait, unless it runs.
void begin_full_code();
// Generates the kernel's full code on this thread, if it waits, or waits for the thread that does.
// Raises what code generation raises.
void finish_full_code(const Artifact& kernel);
// The same for all kernels that wait. Those that fail keep their quick code.
void finish_full_code();
// How many kernels wait, and whether this one does.
std::int64_t awaiting_full_code();
bool awaits_full_code(const Artifact& kernel);

}  // namespace tilewright::dsl
