// torch.nn.functional.interpolate: tensors with their last axes resampled to other sizes.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

enum class InterpolateMode : std::uint8_t {
  nearest,        // of one to three axes, any dtype
  nearest_exact,  // the same from the middle of an element
  linear,         // of one axis, two and three; floats
  bilinear,       // bytes (u8) too, rounded after each axis as PyTorch's on a host
  trilinear,
  bicubic,  // of two axes; floats and bytes
  area,     // means of parts, adaptive_avg_pool of one to three axes; floats
};
// A factor for all axes, or one for each.
class ScaleFactors : public std::vector<double> {
 public:
  ScaleFactors() = default;
  ScaleFactors(std::initializer_list<double> list) : std::vector<double>(list) {}
  ScaleFactors(std::vector<double> list) : std::vector<double>(std::move(list)) {}
  ScaleFactors(double factor) : std::vector<double>{factor} {}
};
struct InterpolateOptions {
  // Either sizes or factors, a value an axis or one for all. By a factor the size becomes
  // size * factor, rounded down, and places are computed from the factor unless it is recomputed
  // from the sizes.
  Sizes size = {};
  ScaleFactors scale_factor = {};
  InterpolateMode mode = InterpolateMode::nearest;
  bool align_corners = false;  // first and last elements lie on each other; linear and cubic ones
  bool recompute_scale_factor = false;
  bool antialias = false;  // means over the area of an element; bilinear and bicubic
};
// x [N, C, sizes..]. Sums of 16 bits are carried in f32 and rounded once.
Tensor interpolate(const TensorOperand& x, const InterpolateOptions& options);

namespace graph {

// Interpolation once sizes and factors are known, the latter for no axis or for each.
struct Resampling {
  InterpolateMode mode;
  Shape sizes;  // of the result's last axes
  std::vector<std::optional<double>> factors = {};
  bool align_corners = false, antialias = false;
};
Tensor resampled(const TensorOperand& x, const Resampling& resampling);

}  // namespace graph

}  // namespace tilewright
