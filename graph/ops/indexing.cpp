#include "graph/ops/family.h"

#include "dsl/ir/immediates.h"
#include "graph/ir/index_space.h"

namespace tilewright::graph {

namespace rules {

ValueType embedding(const Application& a) {
  const Shape& table = a.shape(0);
  a.need_index(1);
  a.need(table.rank() == 2, "the table is ", table, "; it must be [rows, columns]");
  Shape result = a.shape(1);
  result.push_back(table[1]);
  return {a.dtype_of(0), result};
}
ValueType index_copy(const Application& a) {
  a.need_index(1);
  int axis = single_axis(a);
  const Shape &self = a.shape(0), &index = a.shape(1), &source = a.shape(2);
  a.need(a.dtype_of(0) == a.dtype_of(2), "self is ", a.dtype_of(0), ", the source is ",
         a.dtype_of(2), "; they must have one dtype");
  const bool is_by_batch = index.rank() == 2 && axis > 0 && index[0] == self[0];
  a.need(index.rank() == 1 || is_by_batch, "the index is ", index, ", self ", self,
         "; it must have one axis, or rows for each element of an axis 0 before axis ", axis);
  Shape wanted = self;
  wanted[axis] = index[-1];
  a.need(source == wanted, "self is ", self, ", the index has ", index[-1],
         " elements, the source is ", source, "; the source must be ", wanted);
  return a.operands[0];
}
ValueType scatter_reduce(const Application& a) {
  a.need_index(1);
  const int axis = single_axis(a);
  const Shape &self = a.shape(0), &index = a.shape(1), &source = a.shape(2);
  a.need(a.dtype_of(0) == a.dtype_of(2), "self is ", a.dtype_of(0), ", the source is ",
         a.dtype_of(2), "; they must have one dtype");
  a.need_arithmetic(0);
  a.need(index == source, "the index is ", index, ", the source ", source,
         "; they must have one shape");
  bool fits = source.rank() == self.rank();
  for (int i = 0; fits && i < self.rank(); ++i) fits = i == axis || source[i] <= self[i];
  a.need(fits, "self is ", self, ", the source is ", source,
         "; it must have as many axes, and all but axis ", axis, " at most as long");
  const ir::ReduceKind kind = a.attributes.reduction;
  a.need(kind == ir::ReduceKind::sum || kind == ir::ReduceKind::prod ||
             kind == ir::ReduceKind::max || kind == ir::ReduceKind::min,
         "the reduction is ", ir::name_of(kind), "; it must be sum, prod, max or min");
  return a.operands[0];
}
ValueType cat(const Application& a) {
  a.need_equal_dtypes();
  int axis = single_axis(a);
  ValueType result = a.operands[0];
  for (std::size_t i = 1; i < a.count(); ++i) {
    Shape wanted = a.shape(0);
    bool fits = a.shape(i).rank() == wanted.rank();
    if (fits) wanted[axis] = a.shape(i)[axis];
    a.need(fits && a.shape(i) == wanted, "part 0 is ", a.shape(0), ", part ", i, " is ", a.shape(i),
           "; parts may differ only in axis ", axis);
    a.need(!__builtin_add_overflow(result.shape[axis], a.shape(i)[axis], &result.shape[axis]),
           "the parts' sizes along axis ", axis, " add up to 2^63 or more; they must be less");
  }
  return result;
}

}  // namespace rules

HostTensor meaning(The<Op::embedding>, const Node& node, const Operands& x) {
  const HostTensor &table = *x[0], &ids = *x[1];
  HostTensor result(node.dtype, node.shape);
  std::int64_t width = table.shape[1];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t id = ids.integer[static_cast<std::size_t>(i / width)];
    require(id >= 0 && id < table.shape[0], "[embedding] id ", id, " is outside a table of ",
            table.shape[0], " rows; ids must be in [0, rows)");
    result.set(i, table.get(id * width + i % width));
  }
  return result;
}
HostTensor meaning(The<Op::index_copy>, const Node& node, const Operands& x) {
  const HostTensor &self = *x[0], &index = *x[1], &source = *x[2];
  HostTensor result = self;
  auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  for_each_index(source.shape, [&](const Index& at, std::int64_t i) {
    Index to = at;
    const std::int64_t before = index.shape.rank() == 2 ? at[0] * index.shape[1] : 0;
    to[axis] = index.integer[static_cast<std::size_t>(before + at[axis])];
    if (to[axis] >= 0 && to[axis] < self.shape[static_cast<int>(axis)])
      result.set(offset_in(self.shape, to), source.get(i));
  });
  return result;
}
namespace {

ir::ReduceKind kind_for(DType dtype, ir::ReduceKind kind) {
  if (!is_boolean(dtype)) return kind;
  return kind == ir::ReduceKind::sum || kind == ir::ReduceKind::max ? ir::ReduceKind::any
                                                                    : ir::ReduceKind::all;
}

}  // namespace

HostTensor meaning(The<Op::scatter_reduce>, const Node& node, const Operands& x) {
  const HostTensor &index = *x[1], &source = *x[2];
  HostTensor result = *x[0];
  const int axis = node.attributes.axes[0];
  const DType carried = is_floating(node.dtype) ? DType::f64 : node.dtype;
  for_each_index(source.shape, [&](const Index& at, std::int64_t i) {
    Index to = at;
    std::int64_t& row = to[static_cast<std::size_t>(axis)];
    row = index.integer[static_cast<std::size_t>(i)];
    if (row < 0 || row >= result.shape[axis]) return;
    const std::int64_t place = offset_in(result.shape, to);
    ir::Scalar before = result.get(place), next = source.get(i);
    before.dtype = next.dtype = carried;
    result.set(place, ir::combine(kind_for(node.dtype, node.attributes.reduction), before, next));
  });
  return result;
}
HostTensor meaning(The<Op::cat>, const Node& node, const Operands& parts) {
  HostTensor result(node.dtype, node.shape);
  auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  std::int64_t begin = 0;
  for (const HostTensor* part : parts) {
    for_each_index(part->shape, [&](const Index& at, std::int64_t i) {
      Index to = at;
      to[axis] += begin;
      result.set(offset_in(node.shape, to), part->get(i));
    });
    begin += part->shape[static_cast<int>(axis)];
  }
  return result;
}

}  // namespace tilewright::graph
