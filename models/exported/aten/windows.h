// Windows over the last axes of a tensor, for convolution and pooling: what is added around it, and
// which of its elements a place of a window meets.
#pragma once

#include <string_view>

#include "models/exported/aten/call.h"

namespace tilewright::exported {

// As torch.nn.functional.pad has them: before and after the last axis, then of the one before it;
// negative ones cut.
Tensor padded(const Tensor& x, const Shape& pad, const Number& value);

// How windows lie over the last axes, a value an axis.
struct Windows {
  Shape kernel, stride, dilation;
  int rank() const { return kernel.rank(); }
};
// The windows that fit an axis of this size, at least 0.
std::int64_t window_count(const Windows& windows, int axis, std::int64_t size);
// [.., windows of each axis]: of each window the element at that place in it. `place` is the number
// of the place in row-major order.
Tensor at_place(const Tensor& x, const Windows& windows, std::int64_t place);
// [.., places of a window together, windows of all axes together], row-major both.
Tensor all_places(const Tensor& x, const Windows& windows);

// Arguments with a value an axis, or one for all; raise `Error` for others, and for values that are
// not at least 1, or at least 0.
Shape positive(const Call& call, std::string_view name, int rank, const Shape& missing);
Shape not_negative(const Call& call, std::string_view name, int rank);

// Of sizes before and after each axis, in the order that `padded` takes.
Shape pads(const Shape& before, const Shape& after);

}  // namespace tilewright::exported
