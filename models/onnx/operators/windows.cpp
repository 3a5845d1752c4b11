#include "models/onnx/operators/windows.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::onnx {

Shape axis_values(const Call& call, std::string_view name, int rank, std::int64_t missing,
                  std::int64_t least) {
  Shape values = call.integers(name, Shape(static_cast<std::size_t>(rank), missing));
  if (values.rank() != rank)
    call.refuse(name, concat("has ", values.rank(), " values; ", rank, " are wanted"));
  for (std::int64_t value : values)
    if (value < least || value > INT32_MAX)
      call.refuse(name, concat("has the value ", value, "; from ", least, " on are supported"));
  return values;
}

Frame frame_of(const Call& call, const Shape& shape, const Shape& given) {
  Shape kernel = call.has("kernel_shape") || given.empty() ? call.integers("kernel_shape") : given;
  int rank = kernel.rank();
  require(rank >= 1 && shape.rank() == rank + 2, "[onnx] windows of [", kernel, "] over [", shape,
          "]; two axes more are wanted");
  kernel = call.has("kernel_shape") ? axis_values(call, "kernel_shape", rank, 1, 1) : kernel;
  for (std::int64_t size : kernel)
    require(size >= 1, "[onnx] windows of [", kernel, "]; no size must be below 1");
  Frame frame{{kernel, axis_values(call, "strides", rank, 1, 1),
               axis_values(call, "dilations", rank, 1, 1)},
              {},
              {},
              {},
              {}};
  std::string how = call.text("auto_pad", "NOTSET");
  if (how != "NOTSET" && how != "VALID" && how != "SAME_UPPER" && how != "SAME_LOWER")
    call.refuse("auto_pad", "is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER");
  Shape pads = axis_values(call, "pads", 2 * rank, 0, 0);
  bool rounds_up = call.integer("ceil_mode", 0) != 0;
  for (int i = 0; i < rank; ++i) {
    std::int64_t size = shape[2 + i], stride = frame.windows.stride[i],
                 span = frame.windows.dilation[i] * (kernel[i] - 1) + 1;
    std::int64_t before = pads[i], after = pads[rank + i];
    if (how.starts_with("SAME")) {
      std::int64_t count = (size + stride - 1) / stride;
      std::int64_t total = std::max<std::int64_t>((count - 1) * stride + span - size, 0);
      before = how == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    } else if (how == "VALID") {
      before = after = 0;
    }
    std::int64_t room = size + before + after - span;
    // One window that reaches over everything, of which nothing counts that is further away.
    if (rounds_up && frame.windows.dilation[i] == 1 && size > 0 && room < 0 && -room < stride) {
      frame.windows.kernel[i] += room;
      span += room;
      room = 0;
    }
    require(room >= 0, "[onnx] windows of [", kernel, "] do not fit [", shape,
            "]; each must lie within it and its pads");
    std::int64_t count = (room + (rounds_up ? stride - 1 : 0)) / stride + 1;
    // The last window must begin in the tensor or what is in front of it.
    if (rounds_up && (count - 1) * stride >= size + before) --count;
    frame.counts.push_back(count);
    frame.before.push_back(before);
    frame.after.push_back((count - 1) * stride + span - size - before);
    frame.padding_after.push_back(after);
  }
  return frame;
}

Tensor with_channels_first(const Tensor& x) {
  std::vector<int> axes = {0, x.rank() - 1};
  for (int axis = 1; axis < x.rank() - 1; ++axis) axes.push_back(axis);
  return x.permute(axes);
}
Tensor with_channels_last(const Tensor& x) {
  std::vector<int> axes = {0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  axes.push_back(1);
  return x.permute(axes);
}

}  // namespace tilewright::onnx
