// Tells if a write at one place is seen at another one, which a capture asks before it records a
// write, and a plan before it runs: a graph can hold one only where nothing else that it uses lies
// in that memory.
#pragma once

#include <vector>

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
// As `overlap`, of any two tensors: by bytes where their memory or element types differ. Looks at
// each element only of parts of one array that sizes and strides do not tell apart.
bool may_overlap(const Elements& a, const Elements& b);
// Which of them share bytes, as of `share_bytes`, with another one.
std::vector<bool> sharing_bytes(const std::vector<Elements>& all);

}  // namespace tilewright::graph
