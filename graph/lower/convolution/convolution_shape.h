// Facts that the programs of a convolution (Op::convolution) know of it: sizes, and where elements
// lie. It is apart from them since there are several, by how many channels a filter sees and by
// device.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

// One of the axes that windows lie over.
struct WindowAxis {
  std::int64_t size = 1, windows = 1, kernel = 1, stride = 1, dilation = 1, before = 0;
  std::int64_t x_stride = 0, filter_stride = 0;  // in elements, of neighbours
};

struct ConvolutionShape {
  // With at least `axes` axes: of size 1 in front of those that there are.
  ConvolutionShape(const Task& task, std::size_t axes);

  std::int64_t images, groups;
  std::int64_t channels, outputs;  // of a group
  std::vector<WindowAxis> axes;
  int rank;                                                  // axes that the convolution has
  std::int64_t image_stride, channel_stride, x_offset;       // of x
  std::int64_t output_stride, filter_stride, filter_offset;  // of filters, of their channels
  bool has_bias = false;
  std::int64_t bias_stride = 0, bias_offset = 0;

  std::int64_t places() const;   // of a window
  std::int64_t windows() const;  // over an image

  // Three axes in the roles that the host's products give them (convolve_by_products.cpp): places
  // along `rows` share one copy of x, the others have a copy each. `row_axis` is 0 or 1.
  bool has_planes() const { return rank == 3; }
  std::size_t row_axis() const;
  const WindowAxis& planes() const { return axes[1 - row_axis()]; }
  const WindowAxis& rows() const { return axes[row_axis()]; }
  const WindowAxis& columns() const { return axes[2]; }
};

}  // namespace tilewright::graph
