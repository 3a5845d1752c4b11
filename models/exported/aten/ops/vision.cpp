// Operators of torchvision, whose names begin with its own.
#include <algorithm>
#include <cmath>
#include <numeric>

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

// What two boxes, left, top, right and bottom, share, of both, in their own precision.
template <typename T>
T overlap(const T* a, const T* b) {
  auto area = [](const T* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const T wide = std::max(T{0}, std::min(a[2], b[2]) - std::max(a[0], b[0])),
          high = std::max(T{0}, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const T shared = wide * high;
  return shared / (area(a) + area(b) - shared);
}
// Numbers of boxes, the best first, without those that overlap a better one; read on the host.
template <typename T>
Tensor without_overlaps(const Tensor& boxes, const Tensor& scores, double most) {
  const std::vector<T> corners = boxes.to_vector<T>(), score = scores.to_vector<T>();
  std::vector<std::int64_t> order(score.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  auto of = [&](std::int64_t i) { return score[static_cast<std::size_t>(i)]; };
  std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) {
    return std::isnan(of(i)) ? !std::isnan(of(j)) : of(i) > of(j);
  });
  for (std::int64_t i : order)
    if (std::ranges::none_of(kept, [&](std::int64_t better) {
          return static_cast<double>(overlap(&corners[static_cast<std::size_t>(better) * 4],
                                             &corners[static_cast<std::size_t>(i) * 4])) > most;
        }))
      kept.push_back(i);
  return Tensor::from(kept, {std::ssize(kept)});
}
Tensor best_boxes(const Call& call) {
  Tensor boxes = call.tensor("dets"), scores = call.tensor("scores");
  const double most = call.number("iou_threshold");
  require(boxes.rank() == 2 && boxes.size(1) == 4 && scores.shape() == Shape{boxes.size(0)} &&
              is_floating(boxes.dtype()) && is_floating(scores.dtype()),
          "[nms] boxes ", boxes.dtype(), " [", boxes.shape(), "] with scores ", scores.dtype(),
          " [", scores.shape(), "]; floats [N, 4] and [N] are wanted");
  if (boxes.dtype() == f64) return without_overlaps<double>(boxes, scores.to(f64), most);
  return without_overlaps<float>(boxes.to(f32), scores.to(f32), most);
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
    {"torchvision.nms.default", by<best_boxes>},
    {"torchvision.roi_align.default", by<aligned_regions>},
    {"torchvision.roi_pool.default", by<pooled_regions>},
};

}  // namespace
}  // namespace vision_rows

std::span<const Operator> vision_operators() { return vision_rows::rows; }

}  // namespace tilewright::exported
