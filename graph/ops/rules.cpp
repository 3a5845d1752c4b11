#include <algorithm>

#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

void need_axis(const Application& a, int axis, int rank) {
  a.need(axis >= 0 && axis < rank, "axis ", axis, " is outside a tensor of rank ", rank,
         "; it must be in [0, ", rank, ")");
}
// The one axis of an op that works along one.
int single_axis(const Application& a) {
  a.need(a.attributes.axes.size() == 1, "has ", a.attributes.axes.size(),
         " axes; it works along exactly one");
  need_axis(a, a.attributes.axes[0], a.shape(0).rank());
  return a.attributes.axes[0];
}
void need_sizes(const Application& a, const Shape& sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) {
    a.need(size >= 0, "size ", size, " in ", sizes, "; sizes must not be negative");
    a.need(!__builtin_mul_overflow(count, size, &count), "the shape ", sizes,
           " has too many elements; their number must fit 63 bits");
  }
}

}  // namespace rules

namespace {

constexpr int most_axes = 64;  // of any tensor: programs may compute shapes of any length

// Storages are counted in bytes, and addresses computed from sizes and strides, also of places of a
// tile beyond an axis: all must fit 63 bits, whichever rule made the shape. So a value has fewer
// than 2^59 elements, as a tensor has. A shape with a size of 0 has no addresses.
void need_possible(const Application& a, const ValueType& type) {
  a.need(type.shape.rank() <= most_axes, "the result would have ", type.shape.rank(),
         " axes; at most ", most_axes, " are supported");
  std::int64_t bytes = 16;  // the most of an element
  bool fits = true, is_empty = false;
  for (std::int64_t size : type.shape) {
    a.need(size >= 0, "the result would be ", type.shape, "; sizes must not be negative");
    is_empty |= size == 0;
    fits &= !__builtin_mul_overflow(bytes, size, &bytes);
  }
  a.need(fits || is_empty, "the result, ", type.dtype, " ", type.shape,
         ", has too many elements; fewer than 2^59 can be had, whose bytes fit 63 bits");
}

ValueType infer_by_rule(const Application& a) {
  switch (a.op) {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  case Op::name:                                                                     \
    return rules::rule(a);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
  }
  __builtin_unreachable();
}

}  // namespace

std::int64_t count_of_range(std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step > 0 ? end <= start : end >= start) return 0;
  // Unsigned, since both may be at opposite ends of i64.
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(end),
             by = static_cast<std::uint64_t>(step);
  const std::uint64_t count = step > 0 ? (to - from - 1) / by + 1 : (from - to - 1) / (0 - by) + 1;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX));
}

ValueType infer(Op op, std::span<const ValueType> operands, const Attributes& attributes,
                std::optional<DType> dtype, std::source_location location) {
  Application a{op, operands, attributes, dtype, location};
  int count = static_cast<int>(operands.size());
  const OpInfo& row = info(op);
  a.need(count >= row.min_operands && (row.max_operands < 0 || count <= row.max_operands), "has ",
         count, " operands; it takes ", row.min_operands, " to ", row.max_operands);
  std::string_view unread = unread_attribute(attributes, row.reads);
  a.need(unread.empty(), "the attribute ", unread,
         " is set; it must keep its default, since the op does not read it");
  ValueType result = infer_by_rule(a);
  need_possible(a, result);
  for (const ValueType& other : result.others) need_possible(a, other);
  return result;
}

}  // namespace tilewright::graph
