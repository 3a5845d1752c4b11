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
  rank = x.shape.rank() - 2;
  axes.resize(std::max(least_axes, static_cast<std::size_t>(rank)));
  for (int i = 0; i < rank; ++i)
    axes[axes.size() - static_cast<std::size_t>(rank - i)] = {
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

// The axis that leaves least to copy. Rows lie closer together than planes do; windows of one place
// are best taken in the order of memory.
std::size_t ConvolutionShape::row_axis() const {
  constexpr std::int64_t most_rows = 8;  // about what a block has
  if (!has_planes()) return 1;
  if (places() == 1) return 0;
  auto copies_by = [&](const WindowAxis& rows, const WindowAxis& planes) {
    const std::int64_t windows = std::clamp<std::int64_t>(rows.windows, 1, most_rows);
    const std::int64_t more = (rows.kernel - 1) * rows.dilation / rows.stride;
    return static_cast<double>(planes.kernel * (windows + more)) / static_cast<double>(windows);
  };
  return copies_by(axes[0], axes[1]) < copies_by(axes[1], axes[0]) ? 0 : 1;
}

std::int64_t ConvolutionShape::windows() const {
  std::int64_t count = 1;
  for (const WindowAxis& axis : axes) count *= axis.windows;
  return count;
}

}  // namespace tilewright::graph
