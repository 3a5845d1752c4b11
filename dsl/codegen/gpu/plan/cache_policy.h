// Cache policies of accesses to global memory (ir/function.h), as PTX says them.
//
// LLVM IR has no word for them. The emitter notes a policy on the access it belongs to, which stays
// a plain load, store or copy: so it is proved and emulated. For PTX, once device operations are
// expanded, noted accesses are rewritten:
//
//   loads, stores   inline assembly with the qualifiers of the first level of cache, and a hint for
//                   the second:  ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {..}, [..], hint;
//   copies          by threads (cp.async, where the GPU orders evictions of them) and by TMA: the
//                   hint alone. They go past the first level anyway, so modifiers mean nothing to
//                   them.
//
// A hint is a number of 64 bits that `createpolicy` makes: once, where the kernel begins.
#pragma once

#include <llvm/IR/Module.h>

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

constexpr const char* cache_policy_note = "tw.cache";

// `access` is the instruction; nothing is noted for `normal`.
void note_policy(llvm::Value* access, ir::CachePolicy policy);

// True if some access says which data is evicted first, which PTX 7.4 brought.
bool orders_evictions(const llvm::Module& module);

// After expand_device_ops.
void apply_cache_policies(llvm::Module& module, const GpuFacts& gpu);

}  // namespace tilewright::dsl::gpu
