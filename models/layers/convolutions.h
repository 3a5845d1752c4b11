// Layers of convolutions over one to three axes, under PyTorch's names, with its initial weights
// and the names of its parameters.
//
// x is [N, channels, sizes..] or [channels, sizes..]. Misuse raises `Error` with the caller's line
// and, where the layer is registered in a module, its name there. The functions are those of
// graph/functions/convolving/convolution.h.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/functions/convolving/padding.h"
#include "graph/tensor/tensor.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"

namespace tilewright {

// Lists have a value an axis, or one for all axes; empty ones stand for the default that is named.
struct ConvolutionLayerOptions {
  Sizes stride = {};         // 1
  Sizes padding = {};        // on either side, 0
  Sizes dilation = {};       // 1
  bool keeps_sizes = false;  // PyTorch's padding "same"
  std::int64_t groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;  // of zeros, or of elements of x
  LayerOptions layer = {};
};

// weight [out, in / groups, kernel..], bias [out], both initially uniform in +-1/sqrt(elements that
// a window sees).
class Convolution : public Module {
 public:
  using Options = ConvolutionLayerOptions;
  // A kernel of one size has it along all axes.
  Convolution(int axes, std::int64_t in, std::int64_t out, const Sizes& kernel,
              const ConvolutionLayerOptions& options, std::source_location w);
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  Tensor weight, bias;  // no bias: undefined

 private:
  Shape pads() const;

  int axes_;
  ConvolutionLayerOptions options_;
};

template <int axes>
class ConvolutionOver : public Convolution {
 public:
  ConvolutionOver(std::int64_t in, std::int64_t out, const Sizes& kernel,
                  const ConvolutionLayerOptions& options = {},
                  std::source_location w = std::source_location::current())
      : Convolution(axes, in, out, kernel, options, w) {}
};
using Conv1d = ConvolutionOver<1>;
using Conv2d = ConvolutionOver<2>;
using Conv3d = ConvolutionOver<3>;

struct TransposedConvolutionLayerOptions {
  Sizes stride = {};          // 1
  Sizes padding = {};         // 0
  Sizes output_padding = {};  // 0
  Sizes dilation = {};        // 1
  std::int64_t groups = 1;
  bool bias = true;
  LayerOptions layer = {};
};

// weight [in, out / groups, kernel..], bias [out], both initially uniform in +-1/sqrt(out / groups
// * elements of a kernel), as PyTorch has it.
class TransposedConvolution : public Module {
 public:
  using Options = TransposedConvolutionLayerOptions;
  TransposedConvolution(int axes, std::int64_t in, std::int64_t out, const Sizes& kernel,
                        const TransposedConvolutionLayerOptions& options, std::source_location w);
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  Tensor weight, bias;  // no bias: undefined

 private:
  int axes_;
  TransposedConvolutionLayerOptions options_;
};

template <int axes>
class TransposedConvolutionOver : public TransposedConvolution {
 public:
  TransposedConvolutionOver(std::int64_t in, std::int64_t out, const Sizes& kernel,
                            const TransposedConvolutionLayerOptions& options = {},
                            std::source_location w = std::source_location::current())
      : TransposedConvolution(axes, in, out, kernel, options, w) {}
};
using ConvTranspose1d = TransposedConvolutionOver<1>;
using ConvTranspose2d = TransposedConvolutionOver<2>;
using ConvTranspose3d = TransposedConvolutionOver<3>;

}  // namespace tilewright
