// Differences of neighbours along an axis, and the areas below samples, under PyTorch's names.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// Differences of neighbouring elements, taken `times` times; each time the axis becomes shorter by
// one, down to empty. For bool: whether both differ.
Tensor diff(const TensorOperand& x, int times = 1, int axis = -1);
// The area below samples along an axis that are `step` apart, by the trapezoidal rule; integers are
// taken as f32.
Tensor trapezoid(const TensorOperand& y, double step = 1, int axis = -1);
// The same for samples at places x, of one axis, or of axes that broadcast with y's.
Tensor trapezoid(const TensorOperand& y, const Tensor& x, int axis = -1);

}  // namespace tilewright
