// Convolutions over one to three axes, under PyTorch's names (torch.nn.functional.conv1d and so
// on).
//
// Convolutions of f32 are one op (Op::convolution), on GPUs those over one or two axes. Others are
// a product: the elements that the windows meet lie side by side in memory as columns [channels *
// places, windows], place by place a strided slice, and the filters [outputs, channels * places]
// multiply them. A kernel of one place needs no such copy. Filters of one channel each (depthwise)
// are sums of products element by element. Sums of 16 bits are carried in f32, and the bias comes
// before the rounding.
//
// Operands have one dtype, that of the result. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Lists have a value an axis, or one for all axes; empty ones stand for what is said.
struct ConvolutionOptions {
  Sizes stride = {};        // between windows, 1
  Sizes padding = {};       // zeros on either side, 0: PyTorch's "valid"
  Sizes dilation = {};      // between elements of a window, 1
  bool keeps_sizes = {};    // PyTorch's "same": as many zeros as give each axis its size again; an
                            // odd one goes behind; without a stride and a padding
  std::int64_t groups = 1;  // into which the channels, and the outputs, are divided
};
// x [N, C, sizes..] or [C, sizes..], weight [O, C / groups, kernel..], bias [O] or undefined: gives
// [N, O, windows..], or without N.
Tensor conv1d(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {},
              const ConvolutionOptions& options = {});
Tensor conv2d(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {},
              const ConvolutionOptions& options = {});
Tensor conv3d(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {},
              const ConvolutionOptions& options = {});

struct TransposedConvolutionOptions {
  Sizes stride = {};          // between what two elements of x are added to, 1
  Sizes padding = {};         // that the convolution has whose transpose this is, 0
  Sizes output_padding = {};  // more at the end of the result, less than stride or dilation, 0
  Sizes dilation = {};        // 1
  std::int64_t groups = 1;
};
// x [N, C, sizes..] or [C, sizes..], weight [C, O / groups, kernel..], bias [O] or undefined: gives
// [N, O, (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1..].
Tensor conv_transpose1d(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});
Tensor conv_transpose2d(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});
Tensor conv_transpose3d(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});

}  // namespace tilewright
