// Where windows lie over the last axes of a tensor, as convolutions and pooling operators have it
// in their attributes.
#pragma once

#include "graph/functions/pooling/framed_pooling.h"
#include "models/onnx/program/call.h"

namespace tilewright::onnx {

using Frame = graph::WindowFrame;
// Reads kernel_shape (`kernel` where it is absent), strides, dilations, pads, auto_pad and
// ceil_mode for the last axes of a tensor of that shape.
Frame frame_of(const Call& call, const Shape& shape, const Shape& kernel = {});

// Values of an attribute, one an axis, within [least, 2^31).
Shape axis_values(const Call& call, std::string_view name, int rank, std::int64_t missing,
                  std::int64_t least);

// Means over the windows of x [N, C, sizes..]. Padding counts where count_include_pad says so.
Tensor averaged_over_windows(const Call& call, const Tensor& x);
// The axes behind batch and channels, of which there must be some.
std::vector<int> places_of(const Tensor& x);

// The axis of channels, which is the last one, as axis 1; and back.
Tensor with_channels_first(const Tensor& x);
Tensor with_channels_last(const Tensor& x);

}  // namespace tilewright::onnx
