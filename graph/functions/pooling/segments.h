// Sums, means, products and extrema of segments of an axis, under PyTorch's name.
#pragma once

#include <optional>

#include "graph/functions/indexing/scatters.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// x [.., N, ...] and lengths [.., S] of as many segments, one behind the other along the last axis
// that lengths have, of equal leading axes: gives [.., S, ...]. Each segment joins `initial`, which
// is 0 for sums and means, 1 for products and an infinity for extrema unless it is given; a mean of
// none is NaN then. Elements behind the last segment are left out, segments that reach beyond the
// axis end there, and a length below 0 counts as 0. Floats; 16 bits are joined in f32. Misuse
// raises `Error`; safe to call from several threads.
Tensor segment_reduce(const TensorOperand& x, const Tensor& lengths, ScatterReduction reduction,
                      std::optional<double> initial = {});

}  // namespace tilewright
