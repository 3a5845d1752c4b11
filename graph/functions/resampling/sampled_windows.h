// Sampling from feature maps, for detectors: regions of an image, each as bins of one size
// (torchvision.ops.roi_align, roi_pool), and a convolution whose windows read elements that offsets
// move (torchvision.ops.deform_conv2d).
//
// Positions are data and lie between elements; the four nearest are weighted. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/functions/convolving/windows.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// What a bin is of its samples: their mean, or the greatest of the elements around them, each times
// its weight in the sample (ONNX's).
enum class RoiReduction : std::uint8_t { mean, greatest };
struct RoiAlignOptions {
  Shape size = {1, 1};       // bins: rows and columns, of each from 1 to 4096
  double scale = 1;          // of coordinates, to those of x
  std::int64_t samples = 2;  // of a bin along each axis, from 1 to 64; the bin is their mean
  bool aligned = false;      // coordinates are of edges of elements, not of their middles
  // A bin has as many samples along an axis as it has elements there, at most 4096, instead of
  // `samples`. The largest region is then read on the host, where a captured graph breaks.
  bool as_many_as_fit = false;
  RoiReduction reduction = RoiReduction::mean;
};
// x [N, C, H, W], floats; regions [K, 5], each the number of its image, then left, top, right and
// bottom. Gives [K, C, rows, columns] in the dtype of x, computed in f32. A sample further than an
// element beyond the edges is 0. An invalid image number is an `Error` at once, and inside a
// compiled function as far as Options::index_checks says.
Tensor roi_align(const TensorOperand& x, const Tensor& regions, const RoiAlignOptions& options);

struct RoiPoolOptions {
  Shape size = {1, 1};  // bins: rows and columns, of each from 1 to 4096
  double scale = 1;     // of coordinates, to those of x
};
// The greatest element of each bin (torchvision.ops.roi_pool) of x [N, C, H, W] and regions as
// those of `roi_align`, whose corners are rounded to elements and are inside. Gives [K, C, rows,
// columns]; a bin without elements is 0.
Tensor roi_pool(const TensorOperand& x, const Tensor& regions, const RoiPoolOptions& options);

struct DeformConvOptions {
  Shape stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
};
// x [N, C, H, W]; weight [O, C / groups, kh, kw]; bias [O], or undefined; offset [N, 2 * parts * kh
// * kw, h, w], by how much each place of each window moves down and to the right, the same for the
// channels of each of `parts` parts of equal size; mask [N, parts * kh * kw, h, w], a factor of the
// sampled elements, or undefined. Gives [N, O, h, w] in the dtype of x. Elements outside x are 0.
Tensor deform_conv2d(const TensorOperand& x, const Tensor& offset, const Tensor& weight,
                     const Tensor& bias = {}, const Tensor& mask = {},
                     const DeformConvOptions& options = {});

namespace graph {

// Windows, `counts` along each axis, the first of which begins `before` places before x.
struct MovedWindows {
  Windows windows;
  Shape before, counts;
};
// `deform_conv2d` with padding that may differ at the ends.
Tensor deformed_convolution(const Tensor& x, const Tensor& offset, const Tensor& weight,
                            const Tensor& bias, const Tensor& mask, const MovedWindows& moved,
                            std::source_location w = std::source_location::current());

}  // namespace graph
}  // namespace tilewright
