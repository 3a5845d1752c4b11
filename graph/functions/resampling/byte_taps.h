// Images of bytes (u8) at other sizes, to the last bit as PyTorch resamples them on a host: weights
// are integers of 16 bits, sums integers, and the result of each axis is rounded to bytes before
// the next one. Apart from axis_taps.h, where weights and sums are floats.
#pragma once

#include "graph/functions/resampling/axis_taps.h"

namespace tilewright::graph {

// x of i32, with values of bytes; gives such.
Tensor bytes_along(const Tensor& x, int axis, const AxisSampling& sampling, TapForm form,
                   bool antialias, std::source_location w);

}  // namespace tilewright::graph
