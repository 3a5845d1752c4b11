// ONNX's Resize: an axis at a time, each element of the result being a sum of few elements with
// weights, or the nearest one, with all of its rules for where an element of the result lies.
//
// Apart from interpolate.h, whose places are PyTorch's and computed in the graph: these are
// computed on the host of the axis alone, in f64, or in f32 for the nearest elements. Where the
// nearest elements are repeated, or one of so many is taken, the result is a view. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

enum class ResizeMethod : std::uint8_t { nearest, linear, cubic };
// Where element i of the result lies, by the scale s of the axis: (i + 0.5) / s - 0.5, or as named.
enum class ResizeCoordinates : std::uint8_t {
  half_pixel,
  half_pixel_symmetric,  // about the middle of the axis
  pytorch_half_pixel,    // at 0 where the result has one element
  align_corners,         // first and last elements lie on each other
  asymmetric,            // i / s
  tf_half_pixel_for_nn,  // (i + 0.5) / s
  tf_crop_and_resize,    // within a part of the axis
};
enum class ResizeNearest : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };

struct ResizeOptions {
  ResizeMethod method = ResizeMethod::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeNearest nearest = ResizeNearest::round_prefer_floor;
  double cubic_a = -0.75;         // the sharpness of a cubic convolution
  double extrapolation = 0;       // of elements beyond the tensor, of tf_crop_and_resize
  bool excludes_outside = false;  // elements outside weigh nothing; else the edge stands for them
  bool smooths = false;           // the filter is as wide as an element of the result (antialias)
};
struct ResizedAxis {
  int axis;
  std::int64_t size;          // of the result
  double scale;               // of places, about the size over the present one
  double start = 0, end = 1;  // the part that tf_crop_and_resize takes, of the axis' length
};
// Computed in f32 but for the nearest elements, and rounded once to x's dtype; integers to nearest
// with `smooths` and of the cubic method, as ONNX Runtime and PyTorch do, else towards 0.
Tensor resize(const TensorOperand& x, const std::vector<ResizedAxis>& axes,
              const ResizeOptions& options = {});

}  // namespace tilewright
