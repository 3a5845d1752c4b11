// Poolings over windows whose padding may differ before and behind each axis, as ONNX has them, and
// whose sizes an importer has worked out; those of torch.nn.functional are in pooling.h.
//
// x is [N, C, sizes..]. Sums of 16 bits are carried in f32 and rounded once. Misuse raises `Error`;
// safe to call from several threads.
#pragma once

#include <utility>

#include "graph/functions/convolving/windows.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// How windows lie over the axes behind the channels.
struct WindowFrame {
  Windows windows;
  Shape before, after;  // added to each axis; `after` may cut
  Shape counts;         // the number of windows along each axis
  // Without what is added for windows that reach beyond the end (ceil_mode).
  Shape padding_after;
};

// The mean of each window, whose divisor counts the padding only where `includes_padding`.
Tensor framed_mean(const TensorOperand& x, const WindowFrame& frame, bool includes_padding);
Tensor framed_max(const TensorOperand& x, const WindowFrame& frame);
// {values, indices}: i64 the number of the greatest among all elements of x, of the first of equals
// or the first NaN; elements of a plane are counted row-major, or else column-major.
std::pair<Tensor, Tensor> framed_max_with_indices(const TensorOperand& x, const WindowFrame& frame,
                                                  bool is_column_major);
// (sum of |x|^order)^(1 / order).
Tensor framed_norm(const TensorOperand& x, const WindowFrame& frame, double order);

}  // namespace tilewright::graph
