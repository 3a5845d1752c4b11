// Differences of neighbours along an axis, and the areas below samples, under PyTorch's names.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <vector>

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

// PyTorch's other name of it.
Tensor trapz(const TensorOperand& y, double step = 1, int axis = -1);
Tensor trapz(const TensorOperand& y, const Tensor& x, int axis = -1);

// The same up to each sample but the first.
Tensor cumulative_trapezoid(const TensorOperand& y, double step = 1, int axis = -1);
Tensor cumulative_trapezoid(const TensorOperand& y, const Tensor& x, int axis = -1);

// Derivatives along axes, a tensor an axis: by both neighbours, exact for parabolas, and at the
// ends by one of first or second order. Samples are as far apart as `steps` says, a number an axis
// or one for all, or lie at `places`, a tensor [size] an axis. PyTorch's gradient; integers are
// taken as f32.
struct SlopeOptions {
  std::vector<int> axes = {};  // all if there are none
  std::vector<double> steps = {1};
  std::vector<Tensor> places = {};
  int edge_order = 1;
};
std::vector<Tensor> gradient(const TensorOperand& y, const SlopeOptions& options = {});

}  // namespace tilewright
