#include "graph/ir/strided_view.h"

#include "graph/ir/index_space.h"
#include "graph/ir/shape_rules.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// Groups axes of both shapes from the left into runs of equal element count; within a run the
// operand's axes must be evenly spaced, as if they were one axis.
std::optional<Strides> strides_of_reshape(const StridedView& from, const Shape& to) {
  if (element_count(to) == 0) return row_major_strides(to);
  Shape sizes;
  Strides steps;
  for (int axis = 0; axis < from.shape.rank(); ++axis) {
    if (from.shape[axis] == 1) continue;
    sizes.push_back(from.shape[axis]);
    steps.push_back(from.strides[axis]);
  }
  Strides result(to.size(), 1);
  int low = 0, to_low = 0;
  while (low < sizes.rank()) {
    int high = low + 1, to_high = to_low;
    std::int64_t count = sizes[low], to_count = 1;
    while (to_count != count) {
      if (to_count < count) {
        to_count *= to[to_high++];
      } else {
        if (steps[high - 1] != steps[high] * sizes[high]) return std::nullopt;
        count *= sizes[high++];
      }
    }
    for (std::int64_t step = steps[high - 1]; to_high-- > to_low; step *= to[to_high])
      result[to_high] = step;
    std::int64_t done = 1;
    while (done != count) done *= to[to_low++];
    low = high;
  }
  return result;
}

}  // namespace

StridedView row_major(const Shape& shape) { return {shape, row_major_strides(shape), 0}; }

std::optional<StridedView> view_of(Op op, const Attributes& attributes,
                                   const StridedView& operand) {
  StridedView result = operand;
  if (op == Op::reshape) {
    auto strides = strides_of_reshape(operand, attributes.sizes);
    if (!strides) return std::nullopt;
    result.shape = attributes.sizes;
    result.strides = *strides;
  } else if (op == Op::permute) {
    for (int i = 0; i < operand.shape.rank(); ++i) {
      int axis = attributes.axes[static_cast<std::size_t>(i)];
      result.shape[i] = operand.shape[axis];
      result.strides[i] = operand.strides[axis];
    }
  } else if (op == Op::expand) {
    result.shape = attributes.sizes;
    for (int i = 0; i < operand.shape.rank(); ++i)
      if (operand.shape[i] != result.shape[i]) result.strides[i] = 0;
  } else {
    check(op == Op::slice, "not a view");
    int axis = attributes.axes[0];
    result.offset += attributes.start * operand.strides[axis];
    result.shape[axis] = count_of_range(attributes.start, attributes.end, attributes.step);
    result.strides[axis] *= attributes.step;
  }
  return result;
}

std::vector<std::int64_t> element_offsets(const StridedView& view) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(element_count(view.shape)));
  for_each_index(view.shape, [&](const Index& index, std::int64_t) {
    std::int64_t offset = view.offset;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      offset += index[axis] * view.strides[static_cast<int>(axis)];
    offsets.push_back(offset);
  });
  return offsets;
}

}  // namespace tilewright::graph
