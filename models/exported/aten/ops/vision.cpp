// Operators of torchvision, whose names begin with its own.
#include "graph/functions/resampling/sampled_windows.h"
#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace {

Tensor aligned_regions(const Call& call) {
  return roi_align(call.tensor("input"), call.tensor("rois"),
                   {.size = {call.integer("pooled_height"), call.integer("pooled_width")},
                    .scale = call.number("spatial_scale"),
                    .samples = call.integer("sampling_ratio"),
                    .aligned = call.flag("aligned", false)});
}

Tensor deformed(const Call& call) {
  call.integer("groups", 1);  // these two follow from shapes
  call.integer("offset_groups", 1);
  auto both = [&](const char* down, const char* across) {
    return Shape{call.integer(down), call.integer(across)};
  };
  Tensor mask = call.flag("use_mask", true) ? call.optional_tensor("mask") : Tensor();
  (void)call.has("mask");
  return deform_conv2d(call.tensor("input"), call.tensor("offset"), call.tensor("weight"),
                       call.optional_tensor("bias"), mask,
                       {.stride = both("stride_h", "stride_w"),
                        .padding = both("pad_h", "pad_w"),
                        .dilation = both("dilation_h", "dilation_w")});
}

constexpr Operator rows[] = {
    {"torchvision.deform_conv2d.default", by<deformed>},
    {"torchvision.roi_align.default", by<aligned_regions>},
};

}  // namespace

std::span<const Operator> vision_operators() { return rows; }

}  // namespace tilewright::exported
