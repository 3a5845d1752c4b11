#include "dsl/ir/immediates.h"
#include "graph/ir/index_space.h"
#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

ValueType cumulate(const Application& a) {
  single_axis(a);
  a.need_arithmetic(0);
  const DType dtype = a.dtype.value_or(a.dtype_of(0));
  a.need(!is_boolean(dtype) && !is_float8(dtype), "the result is to be ", dtype,
         "; it can be a number of 8 bits or more, and of floats of 16 or more");
  const ir::ReduceKind kind = a.attributes.reduction;
  a.need(kind == ir::ReduceKind::sum || kind == ir::ReduceKind::prod ||
             kind == ir::ReduceKind::max || kind == ir::ReduceKind::min,
         "the reduction is ", ir::name_of(kind), "; it must be sum, prod, max or min");
  return {dtype, a.shape(0)};
}

}  // namespace rules

HostTensor meaning(The<Op::cumulate>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  HostTensor result(node.dtype, node.shape);
  const int axis = node.attributes.axes[0];
  const std::int64_t step = row_major_strides(node.shape)[axis];
  const DType carried = is_floating(node.dtype) ? DType::f64 : node.dtype;
  for_each_index(node.shape, [&](const Index& index, std::int64_t i) {
    ir::Scalar own = x.get(i);
    if (is_floating(x.dtype)) own.dtype = DType::f64;
    own = ir::evaluate(ir::Op::cast_, {&own, 1}, carried);
    if (index[static_cast<std::size_t>(axis)] > 0) {
      ir::Scalar before = result.get(i - step);
      before.dtype = carried;
      own = ir::combine(node.attributes.reduction, before, own);
    }
    result.set(i, own);
  });
  return result;
}

}  // namespace tilewright::graph
