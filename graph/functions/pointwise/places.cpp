#include "graph/functions/pointwise/places.h"

#include "graph/tensor/functional.h"

namespace tilewright::graph {

using std::source_location;

Formula places_along(const Shape& sizes, int axis, source_location w, DType dtype) {
  Shape along(sizes.size(), 1);
  along[axis] = sizes[axis];
  Tensor places = arange(0, sizes[axis], 1, dtype, w);
  return spread(reshape_operand(places, along, w), sizes, w);
}
Formula spread(const Tensor& x, const Shape& sizes, source_location w) {
  return {broadcast_to(x, sizes, "broadcast_to", w), w};
}

int axis_or_only(int axis, const Shape& shape, std::string_view operation, source_location w) {
  return axis_of(axis, shape.empty() ? Shape{1} : shape, operation, w);
}
Tensor with_axis(const Tensor& x, source_location w) {
  return x.rank() == 0 ? reshape_operand(x, {1}, w) : x;
}

}  // namespace tilewright::graph
