#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

ValueType given(const Application& a) {
  a.need(a.dtype.has_value(), "has no dtype; one must be given");
  need_sizes(a, a.attributes.sizes);
  return {*a.dtype, a.attributes.sizes};
}
ValueType arange(const Application& a) {
  const Attributes& at = a.attributes;
  DType dtype = a.dtype.value_or(DType::i64);
  a.need(at.step != 0, "step is 0; it must not be");
  a.need(!is_boolean(dtype), "dtype is bool; it must be a number's");
  return {dtype, {count_of_range(at.start, at.end, at.step)}};
}

}  // namespace rules

HostTensor meaning(The<Op::full>, const Node& node, const Operands&) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    if (is_floating(node.dtype))
      result.set_number(i, node.attributes.number);
    else
      result.set(i, value_of_full(node));
  }
  return result;
}
HostTensor meaning(The<Op::arange>, const Node& node, const Operands&) {
  HostTensor result(node.dtype, node.shape);
  const Attributes& at = node.attributes;
  for (std::int64_t i = 0; i < result.count(); ++i)
    result.set(i, ir::Scalar::of_integer(node.dtype, element_of_range(at.start, at.step, i)));
  return result;
}

}  // namespace tilewright::graph
