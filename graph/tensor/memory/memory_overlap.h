// Which tensors a write to another one changes: what a capture asks before it records a write,
// which a graph can hold only where nothing else that it uses lies in that memory.
#pragma once

#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

// Whether two concrete bodies have an element in common.
bool overlap(const TensorBody& a, const TensorBody& b);
// The same by bytes between the first and the last element, as a plan asks before it writes.
bool share_bytes(const TensorBody& a, const TensorBody& b);
// Whether what a symbolic view was taken from was written since.
bool is_stale(const TensorBody& symbolic);

}  // namespace tilewright::graph
