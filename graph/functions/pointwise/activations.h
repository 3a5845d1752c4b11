// Activations of networks, element by element, under the names of torch.nn.functional.
//
// Apart from those that have a row in ops.def (tensor.h). Operands are floating, but for
// hardtanh and relu6, and an `Error` otherwise; 16 bits are rounded once from f32. A NaN stays one.
// Safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// clamp; the bounds of integers lose their fractions.
Tensor hardtanh(const TensorOperand& x, double min_val = -1, double max_val = 1);
Tensor relu6(const TensorOperand& x);
// x above 0, else slope x.
Tensor leaky_relu(const TensorOperand& x, double negative_slope = 0.01);
// leaky_relu with a slope a channel, which is axis 1 of x: weight [channels], or [1] for all.
Tensor prelu(const TensorOperand& x, const Tensor& weight);
// The same with slopes that broadcast with x.
Tensor prelu_kernel(const TensorOperand& x, const TensorOperand& weight);
// scale x above 0, else scale alpha (exp(input_scale x) - 1); without a digit lost near 0.
Tensor elu(const TensorOperand& x, double alpha = 1, double scale = 1, double input_scale = 1);
Tensor selu(const TensorOperand& x);
Tensor celu(const TensorOperand& x, double alpha = 1);  // alpha is not 0
// clamp(x + 3, 0, 6) / 6, and x times that.
Tensor hardsigmoid(const TensorOperand& x);
Tensor hardswish(const TensorOperand& x);
// 0 within lambd of 0; elsewhere x, or x less lambd of its sign (which must not be negative).
Tensor hardshrink(const TensorOperand& x, double lambd = 0.5);
Tensor softshrink(const TensorOperand& x, double lambd = 0.5);
Tensor softsign(const TensorOperand& x);    // x / (1 + |x|)
Tensor mish(const TensorOperand& x);        // x tanh(softplus(x))
Tensor logsigmoid(const TensorOperand& x);  // log(sigmoid(x))
// x above the threshold, else the value.
Tensor threshold(const TensorOperand& x, double threshold, double value);
// The first half of the axis times the sigmoid of the second; the axis has an even size.
Tensor glu(const TensorOperand& x, int axis = -1);

// ONNX's: alpha x + beta between 0 and 1; x sigmoid(alpha x); x less or more a bias beyond lambd of
// 0, elsewhere 0; 1 at the greatest of an axis, 0 elsewhere.
Tensor hardsigmoid(const TensorOperand& x, double alpha, double beta);
Tensor swish(const TensorOperand& x, double alpha = 1);
Tensor shrink(const TensorOperand& x, double lambd = 0.5, double bias = 0);
Tensor hardmax(const TensorOperand& x, int axis = -1);

}  // namespace tilewright
