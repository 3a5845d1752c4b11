// Images as inputs of networks: resized, fitted into a frame, normalised, as torchvision's
// functions and the letterbox of YOLO do it.
//
// An image is [.., C, H, W], of floats or bytes (u8); interpolate.h has more settings. Misuse
// raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/functions/resampling/interpolate.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

struct ImageOptions {
  InterpolateMode mode = InterpolateMode::bilinear;  // or bicubic, nearest, nearest_exact
  bool antialias = true;                             // of the first two
  // With one size: the longer side has at most so many elements; 0: it is not limited.
  std::int64_t most = 0;
};
// torchvision's resize, of tensors: to {height, width}, or so that the shorter side is the one size
// given and the other is in proportion, rounded down.
Tensor resize_image(const TensorOperand& image, const Shape& size,
                    const ImageOptions& options = {});

// torchvision's normalize: (image - mean) / deviation, with one number a channel. Floats.
Tensor normalize_image(const TensorOperand& image, const std::vector<double>& mean,
                       const std::vector<double>& deviation);

// The image in the middle of a frame of {height, width}, as large as fits, with its proportions;
// the rest is `fill`. A place (x, y) of the image is (x * scale + left, y * scale + top) in the
// frame.
struct Letterbox {
  Tensor image;
  double scale;
  std::int64_t left, top;
};
Letterbox letterbox(const TensorOperand& image, const Shape& size, const Number& fill = 114,
                    const ImageOptions& options = {.antialias = false});

}  // namespace tilewright
