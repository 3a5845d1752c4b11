// Windows over the last axes of a tensor, as convolution and pooling lay them: what is added around
// it, and which of its elements a place of a window meets. A place of all windows together is a
// strided slice, so that no row numbers are needed and what is made of it fuses with it.
#pragma once

#include <functional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Up to how many slices are written out, each of which is a part of the graph.
constexpr std::int64_t most_slices = 64;

// As torch.nn.functional.pad has them: before and after the last axis, then of the one before it;
// negative ones cut.
Tensor padded(const Tensor& x, const Shape& pad, const Number& value,
              std::source_location w = std::source_location::current());
// Of sizes before and after each axis, in the order that `padded` takes.
Shape pads(const Shape& before, const Shape& after);

// How windows lie over the last axes, a value an axis.
struct Windows {
  Shape kernel, stride, dilation;
  int rank() const { return kernel.rank(); }
};
// The windows that fit an axis of this size, at least 0.
std::int64_t window_count(const Windows& windows, int axis, std::int64_t size);
// [.., windows of each axis]: of each window the element at that place in it. `place` is the number
// of the place in row-major order.
Tensor at_place(const Tensor& x, const Windows& windows, std::int64_t place,
                std::source_location w = std::source_location::current());
// [.., places of a window together, windows of all axes together], row-major both.
Tensor all_places(const Tensor& x, const Windows& windows,
                  std::source_location w = std::source_location::current());

// An operation that joins elements in any order, such as a sum: over an axis, and of two tensors.
struct Joining {
  std::function<Tensor(const Tensor& x, int axis)> axis;
  std::function<Tensor(const Tensor& a, const Tensor& b)> two;
};
// [.., windows of each axis]: the elements of each window joined, one axis after the other, so that
// a window of k x k places costs 2 k steps, and adjacent windows are read where they lie.
Tensor joined_windows(const Tensor& x, const Windows& windows, const Joining& joining,
                      std::source_location w = std::source_location::current());

}  // namespace tilewright::graph
