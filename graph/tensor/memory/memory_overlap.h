// Tells if a write at one place is seen at another one, which a capture asks before it
// records a write, which a graph can hold only where nothing else that it uses lies in that memory.
#pragma once

#include "graph/ir/strided_view.h"
#include "runtime/buffer.h"

namespace tilewright::graph {

struct Elements {
  const Buffer* buffer;
  DType dtype;
  const StridedView& view;
};
// True if they have an element in common.
bool overlap(const Elements& a, const Elements& b);
// The same by bytes between the first and the last element, as a plan asks before it writes.
bool share_bytes(const Elements& a, const Elements& b);
// True if they are blocks of one array without an element in common, such as halves of its columns:
// by their sizes and strides alone. False: they may have one.
bool are_blocks_apart(const Elements& a, const Elements& b);

}  // namespace tilewright::graph
