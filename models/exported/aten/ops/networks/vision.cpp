// Operators of torchvision, whose names begin with its own.
#include "graph/functions/detection/nms.h"
#include "graph/functions/resampling/sampled_windows.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace vision_rows {
namespace {

Shape bins_of(const Call& call) {
  return {call.integer("pooled_height"), call.integer("pooled_width")};
}
Tensor aligned_regions(const Call& call) {
  const std::int64_t samples = call.integer("sampling_ratio");
  return roi_align(call.tensor("input"), call.tensor("rois"),
                   {.size = bins_of(call),
                    .scale = call.number("spatial_scale"),
                    .samples = samples > 0 ? samples : 1,
                    .aligned = call.flag("aligned", false),
                    .as_many_as_fit = samples <= 0});
}
// With the numbers of the greatest elements, which only derivatives read.
std::pair<Tensor, Tensor> pooled_regions(const Call& call) {
  if (call.wants(1))
    call.refuse("input", "is pooled, and the numbers of greatest elements, result 1, are read");
  return {roi_pool(call.tensor("input"), call.tensor("rois"),
                   {.size = bins_of(call), .scale = call.number("spatial_scale")}),
          Tensor()};
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
    {"torchvision.nms.default",
     [](const Call& c) {
       return nms(c.tensor("dets"), c.tensor("scores"), c.number("iou_threshold"));
     }},
    {"torchvision.roi_align.default", by<aligned_regions>},
    {"torchvision.roi_pool.default", by<pooled_regions>},
};

}  // namespace
}  // namespace vision_rows

std::span<const Operator> vision_operators() { return vision_rows::rows; }

}  // namespace tilewright::exported
