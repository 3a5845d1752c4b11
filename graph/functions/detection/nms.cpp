#include "graph/functions/detection/nms.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// By its corners, along both axes.
template <typename T>
struct Box {
  T least[2], most[2];
  T area() const { return (most[0] - least[0]) * (most[1] - least[1]); }
};
// The part that two boxes share, of both; of boxes without an area NaN, which is above no
// threshold.
template <typename T>
T overlap(const Box<T>& a, const Box<T>& b) {
  auto along = [&](int axis) {
    return std::max(T{0},
                    std::min(a.most[axis], b.most[axis]) - std::max(a.least[axis], b.least[axis]));
  };
  const T shared = along(0) * along(1);
  return shared / (a.area() + b.area() - shared);
}

// Numbers of boxes, in the order in which they are given and at most so many, without those that
// overlap one before them.
template <typename T>
std::vector<std::int64_t> kept(const std::vector<Box<T>>& boxes,
                               const std::vector<std::int64_t>& order, double threshold,
                               std::int64_t most) {
  std::vector<std::int64_t> result;
  for (std::int64_t i : order) {
    if (std::ssize(result) >= most) break;
    const bool is_covered = std::ranges::any_of(result, [&](std::int64_t better) {
      return static_cast<double>(overlap(boxes[static_cast<std::size_t>(better)],
                                         boxes[static_cast<std::size_t>(i)])) > threshold;
    });
    if (!is_covered) result.push_back(i);
  }
  return result;
}

template <typename T>
std::vector<std::int64_t> best_boxes(const Tensor& boxes, const Tensor& scores, double threshold,
                                     source_location w) {
  const std::vector<T> corners = boxes.to_vector<T>(w), score = scores.to_vector<T>(w);
  std::vector<Box<T>> all;
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < score.size(); ++i) {
    const T* c = &corners[4 * i];
    all.push_back({{c[0], c[1]}, {c[2], c[3]}});
    order.push_back(static_cast<std::int64_t>(i));
  }
  auto of = [&](std::int64_t i) { return score[static_cast<std::size_t>(i)]; };
  std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) {
    return std::isnan(of(i)) ? !std::isnan(of(j)) : of(i) > of(j);
  });
  return kept(all, order, threshold, std::ssize(all));
}

Box<double> box_of(const double* n, bool has_centre) {
  if (has_centre) return {{n[1] - n[3] / 2, n[0] - n[2] / 2}, {n[1] + n[3] / 2, n[0] + n[2] / 2}};
  return {{std::min(n[0], n[2]), std::min(n[1], n[3])},
          {std::max(n[0], n[2]), std::max(n[1], n[3])}};
}

}  // namespace

Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, source_location w) {
  const graph::UserCall call("nms", w);
  require(boxes.rank() == 2 && boxes.size(1) == 4 && scores.shape() == Shape{boxes.size(0)} &&
              is_floating(boxes.dtype()) && is_floating(scores.dtype()),
          "[nms] boxes ", boxes.dtype(), " [", boxes.shape(), "] with scores ", scores.dtype(),
          " [", scores.shape(), "] (at ", At{w}, "); floats [N, 4] and [N] are wanted");
  const std::vector<std::int64_t> found =
      boxes.dtype() == DType::f64
          ? best_boxes<double>(boxes, scores.to(DType::f64), iou_threshold, w)
          : best_boxes<float>(boxes.to(DType::f32), scores.to(DType::f32), iou_threshold, w);
  return graph::constant_of(found, {std::ssize(found)});
}

Tensor batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& classes,
                   double iou_threshold, source_location w) {
  const graph::UserCall call("batched_nms", w);
  require(boxes.rank() == 2 && boxes.size(1) == 4 && classes.shape() == Shape{boxes.size(0)},
          "[batched_nms] boxes [", boxes.shape(), "] with classes [", classes.shape(), "] (at ",
          At{w}, "); [N, 4] and [N] are wanted");
  if (boxes.count() == 0) return nms(boxes, scores, iou_threshold, w);
  // Each class lies apart from the others.
  const Tensor apart = classes.to(boxes.dtype(), w) * (amax({boxes, w}) + 1);
  return nms(boxes + apart.unsqueeze(1, w), scores, iou_threshold, w);
}

Tensor box_iou(const Tensor& a, const Tensor& b, source_location w) {
  const graph::UserCall call("box_iou", w);
  require(a.rank() == 2 && a.size(1) == 4 && b.rank() == 2 && b.size(1) == 4, "[box_iou] boxes [",
          a.shape(), "] and [", b.shape(), "] (at ", At{w}, "); [N, 4] and [M, 4] are wanted");
  auto area = [&](const Tensor& x) {
    return (x.select(1, 2, w) - x.select(1, 0, w)) * (x.select(1, 3, w) - x.select(1, 1, w));
  };
  auto corners = [&](const Tensor& x, std::int64_t first, int axis) {
    return x.slice(1, first, first + 2, 1, w).unsqueeze(axis, w);
  };
  const Tensor least = maximum(corners(a, 0, 1), corners(b, 0, 0));
  const Tensor most = minimum(corners(a, 2, 1), corners(b, 2, 0));
  const Tensor sides = clamp_min(most - least, 0);
  const Tensor shared = sides.select(2, 0, w) * sides.select(2, 1, w);
  return shared / (area(a).unsqueeze(1, w) + area(b).unsqueeze(0, w) - shared);
}

Tensor non_max_suppression(const Tensor& boxes, const Tensor& scores,
                           const SuppressionOptions& options, source_location w) {
  const graph::UserCall call("non_max_suppression", w);
  require(boxes.rank() == 3 && scores.rank() == 3 && boxes.size(2) == 4 &&
              boxes.size(0) == scores.size(0) && boxes.size(1) == scores.size(2),
          "[non_max_suppression] boxes [", boxes.shape(), "] with scores [", scores.shape(),
          "] (at ", At{w},
          "); boxes [batch, boxes, 4] and scores [batch, classes, boxes] are wanted");
  const std::vector<double> corners = boxes.to(DType::f64).to_vector<double>(w),
                            points = scores.to(DType::f64).to_vector<double>(w);
  const std::int64_t batch = scores.size(0), classes = scores.size(1), count = scores.size(2);
  std::vector<std::int64_t> found;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Box<double>> all;
    for (std::int64_t i = 0; i < count; ++i)
      all.push_back(
          box_of(&corners[static_cast<std::size_t>(4 * (b * count + i))], options.has_centre));
    for (std::int64_t c = 0; c < classes; ++c) {
      const double* score = points.data() + (b * classes + c) * count;
      std::vector<std::int64_t> order;
      for (std::int64_t i = 0; i < count; ++i)
        if (!options.score_threshold || score[i] > *options.score_threshold) order.push_back(i);
      std::ranges::stable_sort(order,
                               [&](std::int64_t x, std::int64_t y) { return score[x] > score[y]; });
      for (std::int64_t i : kept(all, order, options.iou_threshold, options.most_of_class))
        found.insert(found.end(), {b, c, i});
    }
  }
  return graph::constant_of(found, {std::ssize(found) / 3, 3});
}

}  // namespace tilewright
