#include "graph/functions/detection/nms.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
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

Tensor non_max_suppression(const Tensor& boxes, const Tensor& scores,
                           const SuppressionOptions& options, source_location w) {
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
