// Copying elements between two strided views of one shape, for clones, `contiguous` and reads by
// the host. Not a kernel: it knows element sizes only, so it needs no compilation.
#pragma once

#include "graph/ir/strided_view.h"

namespace tilewright::graph {

// Both strided views have the same shape; `to` and `from` are the addresses of offset 0. The two
// must not overlap unless they are the same.
void copy_elements(void* to, const StridedView& to_placement, const void* from,
                   const StridedView& from_placement, std::int64_t element_bytes);

}  // namespace tilewright::graph
