#include "graph/lower/convolution/convolution_shape.h"

#include <algorithm>

namespace tilewright::graph {

ConvolutionShape::ConvolutionShape(const Task& task, std::size_t least_axes) {
  const StridedView &x = task.operands[0].view, &filters = task.operands[1].view;
  const Attributes& of = task.attributes;
  images = x.shape[0];
  groups = of.groups;
  channels = filters.shape[1];
  outputs = filters.shape[0] / groups;
  image_stride = x.strides[0];
  channel_stride = x.strides[1];
  x_offset = x.offset;
  output_stride = filters.strides[0];
  filter_stride = filters.strides[1];
  filter_offset = filters.offset;
  const int own = x.shape.rank() - 2;
  axes.resize(std::max(least_axes, static_cast<std::size_t>(own)));
  for (int i = 0; i < own; ++i)
    axes[axes.size() - static_cast<std::size_t>(own - i)] = {
        x.shape[2 + i],  of.sizes[i],  filters.shape[2 + i], of.window_strides[i],
        of.dilations[i], of.before[i], x.strides[2 + i],     filters.strides[2 + i]};
  if (task.operands.size() > 2) {
    has_bias = true;
    bias_stride = task.operands[2].view.strides[0];
    bias_offset = task.operands[2].view.offset;
  }
}

std::int64_t ConvolutionShape::places() const {
  std::int64_t count = 1;
  for (const WindowAxis& axis : axes) count *= axis.kernel;
  return count;
}

std::int64_t ConvolutionShape::windows() const {
  std::int64_t count = 1;
  for (const WindowAxis& axis : axes) count *= axis.windows;
  return count;
}

}  // namespace tilewright::graph
