// The derivative of convolutions and of transposed ones, under PyTorch's name.
//
// That of x is the transpose of the convolution, that of the weight a product of what windows meet
// and what each of them weighs, that of the bias a sum. Misuse raises `Error`; safe to call from
// several threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/functions/derivatives/gradients.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// A value an axis; one to three axes.
struct ConvolutionGradientOptions {
  Shape stride, padding, dilation;
  std::int64_t groups = 1;
  bool transposed = false;
};
// x [N, C, sizes..] and weight [O, C / groups, kernel..], of a transposed one [C, O / groups,
// kernel..], and the gradient [N, O, windows..]. Elements behind the last windows have no part in
// the result; how many there are, and the output padding of a transposed one, follow from the
// sizes of x and of the gradient.
OperandGradients convolution_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight,
                                      const ConvolutionGradientOptions& options,
                                      const WantedGradients& wanted = {},
                                      std::source_location w = std::source_location::current());

}  // namespace tilewright
