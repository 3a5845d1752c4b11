// How the windows of one pooling lie over the last axes of a tensor: sizes that were checked, what
// is added around it so that each window is whole, and where in it a place of a window is.
#pragma once

#include <source_location>
#include <string_view>
#include <vector>

#include "graph/functions/convolving/windows.h"
#include "graph/functions/pointwise/places.h"

namespace tilewright::graph {

// What a pooling was asked for, as its options have it.
struct PoolSettings {
  Shape kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

struct PooledAxes {
  Windows windows;
  Shape sizes;          // of x along them
  Shape counts;         // of windows
  Shape before, after;  // elements around x; what is added behind may be negative

  int rank() const { return windows.rank(); }
  // i64, of the sizes of a result: which element of the axis a window begins with, which may be one
  // of those around x.
  Formula starts(const Shape& result, int axis, std::source_location w) const;
  std::vector<Number> settings() const;
};

// Raises `Error` where x has other ranks than rank + 1 and rank + 2, where values cannot be, and
// where a window does not fit.
PooledAxes pooled_axes(std::string_view name, int rank, const Tensor& x,
                       const PoolSettings& settings, std::source_location w);
// The greatest along an axis, which becomes 1 less, and its place, i64: of equals that of the
// first, of several NaN that of the last, as poolings of PyTorch's have it.
std::pair<Tensor, Formula> greatest_and_place(const Tensor& x, int axis, std::source_location w);
// The least number of a dtype, which padding has where the greatest wins.
Number least_of(DType dtype);
// The sizes of x with the counts for its last axes.
Shape pooled_sizes(const Tensor& x, const Shape& counts);
// One value an axis, at least `least`; one stands for all, and none for `missing`.
Shape pool_values(std::string_view name, std::string_view what, int rank, const Shape& given,
                  std::int64_t missing, std::int64_t least, std::source_location w);

}  // namespace tilewright::graph
