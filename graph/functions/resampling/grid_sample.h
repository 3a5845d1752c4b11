// Elements of images and volumes at positions that are data: torch.nn.functional.grid_sample, and
// affine_grid, which makes such positions.
//
// A position is x, y (and z), the last axis first; -1 and 1 are the ends of an axis: the middles of
// its first and last elements with aligned corners, else their outer edges. Misuse raises `Error`;
// safe to call from several threads.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright {

enum class SampleMode : std::uint8_t {
  bilinear,  // of three axes trilinear
  nearest,   // halves to the even element
  bicubic,
};
enum class SamplePadding : std::uint8_t {
  zeros,       // elements outside are 0
  border,      // positions outside move to the nearest end
  reflection,  // positions outside are reflected at the ends
};
struct GridSampleOptions {
  SampleMode mode = SampleMode::bilinear;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;
};
// x [N, C, H, W] and grid [N, h, w, 2], or [N, C, D, H, W] and [N, d, h, w, 3], floats of one
// dtype: gives [N, C, h, w], or [N, C, d, h, w]. Computed in f32 where they have 16 bits. Where a
// position is NaN, or infinite without a border, the result is NaN or 0, and nothing outside x is
// read.
Tensor grid_sample(const TensorOperand& x, const Tensor& grid,
                   const GridSampleOptions& options = {});

// theta [N, 2, 3] or [N, 3, 4] times each position of a regular grid over [-1, 1] and a 1; `sizes`
// are [N, C, H, W] or [N, C, D, H, W]. Gives [N, H, W, 2] or [N, D, H, W, 3].
Tensor affine_grid(const TensorOperand& theta, const Shape& sizes, bool align_corners = false);

namespace graph {

// grid_sample of one axis or more. Where `moves_positions`, positions of the modes bilinear and
// nearest are brought inside before the elements around them are taken, and rounded before that, as
// ONNX has it; and a NaN counts as -1, as ONNX Runtime computes it.
Tensor sampled_at(const TensorOperand& x, const Tensor& grid, const GridSampleOptions& options,
                  bool moves_positions);
// affine_grid of one axis or more, the position of the only element of one being `single`.
Tensor affine_positions(const TensorOperand& theta, const Shape& sizes, bool align_corners,
                        double single);

}  // namespace graph
}  // namespace tilewright
