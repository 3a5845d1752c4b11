#include "graph/ops/family.h"

#include <algorithm>

#include "dsl/ir/immediates.h"
#include "dsl/ir/type_rules.h"

namespace tilewright::graph {

namespace rules {

namespace {

bool equal_but_last_two(const Shape& a, const Shape& b) {
  return a.rank() == b.rank() && std::equal(a.begin(), a.end() - 2, b.begin());
}

}  // namespace

ValueType matmul(const Application& a) {
  const Shape &x = a.shape(0), &y = a.shape(1);
  a.need_equal_dtypes();
  a.need(!is_boolean(a.dtype_of(0)), "the operands are bool; they must be numbers");
  a.need(x.rank() >= 2 && y.rank() >= 2, "a is ", x, ", b is ", y,
         "; both must have at least 2 axes");
  a.need(x[-1] == y[-2], "inner sizes differ: a is ", x, ", b is ", y,
         "; a's last axis must equal b's last but one");
  a.need(equal_but_last_two(x, y), "leading axes differ: a is ", x, ", b is ", y,
         "; they must be equal or broadcast");
  Shape result = x;
  result[-1] = y[-1];
  DType operands = a.dtype_of(0), sums = ir::product_dtype(operands);
  DType dtype = a.dtype.value_or(is_float8(operands) ? sums : operands);
  a.need(dtype == sums || (dtype == operands && !is_float8(operands)), "the result is to be ",
         dtype, ", the operands are ", operands, "; it can be ", sums,
         is_float8(operands) || sums == operands ? "" : " or as they are");
  return {dtype, result};
}
ValueType linear(const Application& a) {
  const Shape &x = a.shape(0), &w = a.shape(1);
  a.need_equal_dtypes();
  a.need_floating(0);
  a.need(x.rank() >= 1 && w.rank() == 2 && x[-1] == w[1], "x is ", x, ", the weight is ", w,
         "; the weight must be [out, in] with in = x's last size");
  a.need(a.count() < 3 || a.shape(2) == Shape{w[0]}, "the bias is ", a.count() < 3 ? x : a.shape(2),
         ", the weight is ", w, "; the bias must have ", w[0], " elements");
  Shape result = x;
  result[-1] = w[0];
  return {a.dtype_of(0), result};
}

}  // namespace rules

HostTensor meaning(The<Op::matmul>, const Node& node, const Operands& operands) {
  const HostTensor &a = *operands[0], &b = *operands[1];
  HostTensor result(node.dtype, node.shape);
  std::int64_t m = a.shape[-2], k = a.shape[-1], n = b.shape[-1];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t column = i % n, row = i / n % m, batch = i / n / m;
    double total = 0;
    std::uint64_t wrapped = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      std::int64_t at_a = (batch * m + row) * k + j, at_b = (batch * k + j) * n + column;
      if (is_floating(node.dtype))
        total += a.number(at_a) * b.number(at_b);
      else
        wrapped += static_cast<std::uint64_t>(a.get(at_a).integer) *
                   static_cast<std::uint64_t>(b.get(at_b).integer);
    }
    if (is_floating(node.dtype))
      result.set_number(i, total);
    else
      result.set(i, ir::Scalar::of_integer(node.dtype, static_cast<std::int64_t>(wrapped)));
  }
  return result;
}

// A bias is added to the sums before these are rounded to 16 bits.
Term decomposition(The<Op::linear>, const Composite& site) {
  const Term &x = site.operands[0], &w = site.operands[1];
  Shape leading = x.shape();
  leading[-1] = 1;
  Term rows = x.reshape({element_count(leading), x.shape()[-1]});
  Term transposed = w.make(Op::permute, {w.id}, {.axes = {1, 0}, .sizes = {}});
  const DType sums = site.has(2) ? ir::product_dtype(x.dtype()) : x.dtype();
  Term y{x.builder, x.builder->append(Op::matmul, {rows.id, transposed.id}, {}, sums)};
  if (site.has(2)) y = y + site.wide(2).along_rows_of(y);
  return y.to(x.dtype()).reshape(site.node.shape);
}
HostTensor meaning(The<Op::linear>, const Node& node, const Operands& operands) {
  const HostTensor &x = *operands[0], &w = *operands[1];
  std::int64_t k = w.shape[1], n = w.shape[0];
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    double total = operands.size() > 2 ? operands[2]->number(i % n) : 0;
    for (std::int64_t j = 0; j < k; ++j) total += x.number(i / n * k + j) * w.number(i % n * k + j);
    result.set_number(i, total);
  }
  return result;
}

}  // namespace tilewright::graph
