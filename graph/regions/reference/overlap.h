// Decides whether strided views are of different elements: the questions about memory that are
// decided by sizes and strides alone, without a look at each element.
#pragma once

#include "graph/regions/task.h"

namespace tilewright::graph {

// Offsets from the first to the last element, both included.
struct Extent {
  std::int64_t first = 0, last = 0;
};
Extent extent_of(const StridedView& view);

// No two indices have one offset: sorted by stride, each axis steps over all that the smaller ones
// reach together.
bool is_injective(const StridedView& view);

// The two tasks are shown to write no element in common, as parts of a concatenation, which lie
// beside each other along one axis of a whole.
bool write_apart(const Task& a, const Task& b);
// The task is shown to write no element that lies at `read` of its storage.
bool writes_apart_from(const Task& writer, const StridedView& read);

}  // namespace tilewright::graph
