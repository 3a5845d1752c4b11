#include "graph/compile/sizes/size_marks.h"

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using graph::At;
using std::source_location;

void require_possible(const SizeRange& sizes, source_location w) {
  require(sizes.min >= 0 && sizes.max >= sizes.min, "[mark_dynamic] the sizes are from ", sizes.min,
          " to ", sizes.max, " (at ", At{w}, "); 0 <= min <= max must hold");
  require(sizes.multiple_of >= 1, "[mark_dynamic] multiple_of is ", sizes.multiple_of, " (at ",
          At{w}, "); it must be at least 1");
  require(sizes.max / sizes.multiple_of * sizes.multiple_of >= sizes.min,
          "[mark_dynamic] no multiple of ", sizes.multiple_of, " is between ", sizes.min, " and ",
          sizes.max, " (at ", At{w}, "); give a range that holds one");
}

// With buckets the greatest of them is the greatest size.
SizeRange with_possible_buckets(SizeRange sizes, source_location w) {
  for (std::size_t i = 0; i < sizes.buckets.size(); ++i) {
    const std::int64_t bucket = sizes.buckets[i];
    require(bucket > 0 && (i == 0 || bucket > sizes.buckets[i - 1]), "[mark_dynamic] bucket ", i,
            " is ", bucket, i == 0 ? "" : " after ",
            i == 0 ? "" : std::to_string(sizes.buckets[i - 1]), " (at ", At{w},
            "); buckets must be positive and ascending");
    require(holds(sizes, bucket), "[mark_dynamic] bucket ", i, " is ", bucket,
            " and the axis is declared to have ",
            text_of(SizeRange{sizes.min, sizes.max, sizes.multiple_of}), " (at ", At{w},
            "); give buckets of these sizes");
  }
  if (!sizes.buckets.empty()) sizes.max = sizes.buckets.back();
  return sizes;
}

// The axis, counted from the front.
int marked_axis(const Tensor& tensor, int axis, const char* operation, source_location w) {
  const Shape& shape = graph::body_of(tensor, operation, w).view.shape;
  require(!graph::Capture::active() && !tensor.is_symbolic(), "[", operation,
          "] a function is being captured, which happens once and not at each call (at ", At{w},
          "); mark its arguments before they are passed");
  std::optional<int> normal = normalise_axis(axis, shape.rank());
  require(normal.has_value(), "[", operation, "] axis ", axis, " is outside a tensor of shape ",
          shape, " (at ", At{w}, "); it must be in [", -shape.rank(), ", ", shape.rank(), ")");
  return *normal;
}

// Functions may hold what there was before.
void mark(const Tensor& tensor, int axis, std::optional<SizeRange> sizes) {
  std::shared_ptr<const SizeMarks>& marks = tensor.body()->size_marks;
  auto changed = marks ? std::make_shared<SizeMarks>(*marks) : std::make_shared<SizeMarks>();
  changed->axes[axis] = std::move(sizes);
  marks = std::move(changed);
}

}  // namespace

void mark_dynamic(const Tensor& tensor, int axis, const SizeRange& declared, source_location w) {
  require_possible(declared, w);
  const SizeRange sizes = with_possible_buckets(declared, w);
  const int own = marked_axis(tensor, axis, "mark_dynamic", w);
  const std::int64_t size = tensor.shape()[own];
  require(holds(sizes, size), "[mark_dynamic] axis ", own, " is ", size,
          " and is declared to have ", text_of(sizes), " (at ", At{w},
          "); mark a tensor of such a size, or declare others");
  mark(tensor, own, sizes);
}

void mark_static(const Tensor& tensor, int axis, source_location w) {
  mark(tensor, marked_axis(tensor, axis, "mark_static", w), std::nullopt);
}

}  // namespace tilewright
