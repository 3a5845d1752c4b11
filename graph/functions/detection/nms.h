// Non-maximum suppression: of boxes that overlap the best, under the names of torchvision and ONNX.
//
// How many boxes stay is data: boxes and scores are read on the host, where a captured graph
// breaks. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// torchvision.ops.nms: boxes, floats [N, 4], left, top, right and bottom; scores, floats [N]. The
// numbers of those that overlap no better one by more than the threshold, of what both cover
// together, the best first: i64 [kept]. Computed in f64 where the boxes are, else in f32.
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold,
           std::source_location w = std::source_location::current());

// torchvision.ops.batched_nms: the same among the boxes of each class, classes [N].
Tensor batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& classes,
                   double iou_threshold, std::source_location w = std::source_location::current());
// torchvision.ops.box_iou: [N, 4] and [M, 4] give [N, M], the area that two boxes share over what
// both cover together.
Tensor box_iou(const Tensor& a, const Tensor& b,
               std::source_location w = std::source_location::current());

struct SuppressionOptions {
  std::int64_t most_of_class = 0;  // boxes of a batch and class that stay
  double iou_threshold = 0;
  std::optional<double> score_threshold = {};  // boxes whose score is not above it are left out
  bool has_centre = false;                     // boxes are x and y of the centre, width and height
};
// ONNX's NonMaxSuppression: boxes [batch, N, 4], two opposite corners (y, x) each, and scores
// [batch, classes, N]. Rows {batch, class, box}, i64 [kept, 3]. Computed in f64.
Tensor non_max_suppression(const Tensor& boxes, const Tensor& scores,
                           const SuppressionOptions& options,
                           std::source_location w = std::source_location::current());

}  // namespace tilewright
