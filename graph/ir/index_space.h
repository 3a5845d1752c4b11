// Walking the index space of a shape, for the code that handles elements one by one (reference
// evaluation, copies of strided host memory). Not for fast paths.
#pragma once

#include <vector>

#include "runtime/base/shape.h"

namespace tilewright::graph {

using Index = std::vector<std::int64_t>;

// Calls visit(index, position) for every index of `shape` in row-major order.
template <typename Visit>
void for_each_index(const Shape& shape, Visit&& visit) {
  Index index(shape.size());
  for (std::int64_t position = 0, count = element_count(shape); position < count; ++position) {
    visit(static_cast<const Index&>(index), position);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      index[axis] = 0;
    }
  }
}

// Row-major position of `index` in `shape`, where an axis of size 1 stands for all of its indices.
inline std::int64_t offset_in(const Shape& shape, const Index& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t size = shape[static_cast<int>(axis)];
    offset = offset * size + (size == 1 ? 0 : index[axis]);
  }
  return offset;
}

}  // namespace tilewright::graph
