// The verifier's rules about what stages after Stage::traced add (verify.h): layouts, places in
// shared memory, and the barriers that keep accesses in order. They are apart from those of types
// since they know the algebra of layouts and follow time, and a traced function has none of it.
#pragma once

#include "dsl/ir/function.h"

namespace tilewright::ir {

// Types must be right already.
void verify_layouts(const Function& function);

// For shared memory: parts in use at one time lie apart. For barriers: where threads may touch
// memory that another one has written, or write memory that another one may still read, they have
// met since. Between an instruction's writes to its scratch and its reads there they always meet,
// and so they do where an iteration of a loop with stages begins, and in a cluster_reduce of
// several programs. Staged loads and boxed stores have barriers of their own (codegen/gpu/plan),
// and a ring is written while it is read; that is proved of the code (codegen/gpu/proof).
void verify_shared(const Function& function);

// The layout of a shape operation's operand from which its result is in registers as it should be
// without moving anything; nothing if there is no such layout.
std::optional<dsl::layout::Layout> shape_source(const Function& function, const Inst& inst,
                                                const dsl::layout::Layout& result);

}  // namespace tilewright::ir
