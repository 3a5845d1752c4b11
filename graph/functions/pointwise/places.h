// The places of elements along the axes of a tensor, as terms of a formula, for functions that
// depend on where an element is.
#pragma once

#include <source_location>
#include <string_view>

#include "graph/functions/pointwise/formula.h"

namespace tilewright::graph {

// i64, or another dtype, of the given sizes: the place along the axis.
Formula places_along(const Shape& sizes, int axis, std::source_location w,
                     DType dtype = DType::i64);
// Broadcast to the sizes.
Formula spread(const Tensor& x, const Shape& sizes, std::source_location w);

// The axis of a tensor; one without axes counts as having one, of size 1.
int axis_or_only(int axis, const Shape& shape, std::string_view operation, std::source_location w);
// That tensor with the axis.
Tensor with_axis(const Tensor& x, std::source_location w);

}  // namespace tilewright::graph
