// Looks for code that exists in this process, by the content of a program whose hash is known: a
// plan that runs the programs of another one has no need to hash them again.
#pragma once

#include <memory>

#include "dsl/codegen/host/code_tier.h"
#include "dsl/target/target.h"
#include "runtime/artifact.h"
#include "runtime/base/hash.h"

namespace tilewright::dsl {

// The code that `compile` (compile.h) would find for a host's program of this content; null where
// it would look in the cache folder, or compile. Thread safe.
std::shared_ptr<const Artifact> find_compiled(const Hash& program, const Target& host,
                                              CodeTier tier);

}  // namespace tilewright::dsl
