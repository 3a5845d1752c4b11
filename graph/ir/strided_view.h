// Where the elements of a tensor lie in memory, and the effect of a view op on that.
//
// The one place that knows how reshape, permute, expand and slice act on strides: concrete tensors,
// reference evaluation and the memory plan of compiled functions all ask here.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct StridedView {
  Shape shape;
  Strides strides;          // in elements
  std::int64_t offset = 0;  // of the first element, in elements
  bool operator==(const StridedView&) const = default;
};

StridedView row_major(const Shape& shape);

// The strided view of `op` (of kind view) applied to a value that lies at `operand`, or nothing
// where a reshape has no strides that describe it, so that data must be copied first.
std::optional<StridedView> view_of(Op op, const Attributes& attributes, const StridedView& operand);

// For each element of the result, in row-major order, the offset that it lies at.
std::vector<std::int64_t> element_offsets(const StridedView& view);

}  // namespace tilewright::graph
