// Elements between elements, at places that tensors say, and the choice of boxes.
#include "graph/functions/convolving/folding.h"
#include "graph/functions/detection/nms.h"
#include "graph/functions/resampling/grid_sample.h"
#include "graph/functions/resampling/sampled_windows.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/operators/windows.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace sampling_rows {
namespace {

Tensor sampled(const Call& call) {
  Tensor x = call.tensor(0), grid = call.tensor(1);
  std::string mode = call.text("mode", call.opset() < 20 ? "bilinear" : "linear"),
              padding = call.text("padding_mode", "zeros");
  bool aligns = call.flag("align_corners", false);
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic" &&
      mode != "bicubic")
    call.refuse("mode", "is none of nearest, linear and cubic");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    call.refuse("padding_mode", "is none of zeros, border and reflection");
  const int axes = x.rank() - 2;
  require(axes >= 1 && grid.rank() == x.rank() && grid.size(-1) == axes && x.count() > 0,
          "[onnx] [", x.shape(), "] is sampled at [", grid.shape(),
          "]; places of as many numbers as x has axes behind batch and channels are wanted");
  const GridSampleOptions options{.mode = mode == "nearest"         ? SampleMode::nearest
                                          : mode.ends_with("cubic") ? SampleMode::bicubic
                                                                    : SampleMode::bilinear,
                                  .padding = padding == "zeros"    ? SamplePadding::zeros
                                             : padding == "border" ? SamplePadding::border
                                                                   : SamplePadding::reflection,
                                  .align_corners = aligns};
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : bit_width(x.dtype()) < 32 ? f32 : f64;
  return graph::sampled_at(x.to(dtype), grid.to(dtype), options, true).to(x.dtype());
}

// The places that an affine map gives to a regular grid.
Tensor affine_grid(const Call& call) {
  Tensor map = call.tensor(0);
  Shape sizes = call.integers(1);
  bool aligns = call.flag("align_corners", false);
  int axes = sizes.rank() - 2;
  require(axes >= 1 && map.rank() == 3 && map.size(1) == axes && map.size(2) == axes + 1,
          "[onnx] a map [", map.shape(), "] for the sizes [", sizes, "]; [Nx", axes, "x", axes + 1,
          "] is wanted, and sizes of at least three axes");
  return graph::affine_positions(map, sizes, aligns, aligns ? -1 : 0);
}

Tensor put_together(const Call& call) {
  const Shape image = call.integers(1), block = call.integers(2);
  const int rank = image.rank();
  require(rank >= 1 && rank <= 3 && block.rank() == rank, "[onnx] blocks [", block,
          "] in an image [", image, "]; one to three sizes are wanted, as many of both");
  const Shape pads = axis_values(call, "pads", 2 * rank, 0, 0);
  return fold(call.tensor(0), image, block,
              {.stride = axis_values(call, "strides", rank, 1, 1),
               .padding = Shape(pads.begin(), pads.begin() + rank),
               .dilation = axis_values(call, "dilations", rank, 1, 1),
               .padding_after = Shape(pads.begin() + rank, pads.end())});
}

// A convolution whose windows meet elements that offsets move.
Tensor deformed(const Call& call) {
  Tensor x = call.tensor(0), weight = call.tensor(1), offset = call.tensor(2),
         bias = call.optional_tensor(3), mask = call.optional_tensor(4);
  require(x.rank() == 4 && weight.rank() == 4 && x.count() > 0, "[onnx] [", x.shape(), "] by [",
          weight.shape(), "]; two axes besides the channels are supported");
  Frame frame = frame_of(call, x.shape(), {weight.size(2), weight.size(3)});
  std::int64_t groups = call.integer("group", 1), parts = call.integer("offset_group", 1);
  require(groups > 0 && groups * weight.size(1) == x.size(1) && parts > 0 && offset.rank() == 4 &&
              offset.size(1) == parts * 2 * weight.size(2) * weight.size(3),
          "[onnx] [", x.shape(), "] by [", weight.shape(), "] with offsets [", offset.shape(),
          "] in ", groups, " and ", parts,
          " groups; the weight's axis 1 times the groups must be the channels, and axis 1 of the "
          "offsets two for each place of a window and group");
  return graph::deformed_convolution(x, offset, weight, bias, mask,
                                     {frame.windows, frame.before, frame.counts});
}

Tensor best_boxes(const Call& call) {
  SuppressionOptions options{.most_of_class = call.has(2) ? call.scalar(2).as_integer() : 0,
                             .iou_threshold = call.has(3) ? call.scalar(3).as_double() : 0,
                             .has_centre = call.integer("center_point_box", 0) != 0};
  if (call.has(4)) options.score_threshold = call.scalar(4).as_double();
  return non_max_suppression(call.tensor(0), call.tensor(1), options);
}

Tensor aligned_regions(const Call& call) {
  const Tensor x = call.tensor(0), corners = call.tensor(1), images = call.tensor(2);
  const std::string mode = call.text("mode", "avg"),
                    coordinates = call.text("coordinate_transformation_mode",
                                            call.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg" && mode != "max") call.refuse("mode", "is neither avg nor max");
  require(corners.rank() == 2 && corners.size(1) == 4 && images.shape() == Shape{corners.size(0)},
          "[onnx] regions [", corners.shape(), "] of images [", images.shape(),
          "]; [regions, 4] with a number of an image each are wanted");
  const std::int64_t samples = call.integer("sampling_ratio", 0);
  return roi_align(x, cat({images.unsqueeze(1).to(f32), corners.to(f32)}, 1),
                   {.size = {call.integer("output_height", 1), call.integer("output_width", 1)},
                    .scale = call.number("spatial_scale", 1),
                    .samples = samples == 0 ? 1 : samples,
                    .aligned = coordinates == "half_pixel",
                    .as_many_as_fit = samples == 0,
                    .reduction = mode == "max" ? RoiReduction::greatest : RoiReduction::mean});
}

constexpr Operator rows[] = {
    {"AffineGrid", 20, by<affine_grid>},
    {"Col2Im", 18, by<put_together>},
    {"DeformConv", 19, by<deformed>},
    {"GridSample", 16, by<sampled>},
    {"com.microsoft.GridSample", 1, by<sampled>},
    {"NonMaxSuppression", 10, by<best_boxes>},
    {"RoiAlign", 10, by<aligned_regions>},
};

}  // namespace
}  // namespace sampling_rows

std::span<const Operator> sampling_operators() { return sampling_rows::rows; }

}  // namespace tilewright::onnx
