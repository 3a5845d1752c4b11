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
ValueType grouped_matmul(const Application& a) {
  const Shape &x = a.shape(0), &y = a.shape(1), &ends = a.shape(2);
  a.need(a.dtype_of(1) == a.dtype_of(0), "operand 1 is ", a.dtype_of(1), ", operand 0 is ",
         a.dtype_of(0), "; the matrices must have one dtype: convert with to()");
  a.need_floating(0);
  a.need_index(2);
  a.need(x.rank() == 2 && (y.rank() == 2 || y.rank() == 3), "a is ", x, ", b is ", y,
         "; a must be a matrix, and b a matrix or a stack of matrices");
  a.need(x[1] == y[-2], "inner sizes differ: a is ", x, ", b is ", y,
         "; a's last axis must equal b's last but one");
  a.need(ends.rank() == 1 && ends[0] > 0, "the ends of groups have the shape [", ends,
         "]; one axis is needed, and at least one group");
  a.need(y.rank() == 2 || y[0] == ends[0], "b has ", y[0], " matrices, and there are ", ends[0],
         " groups; there must be as many");
  return {a.dtype_of(0), y.rank() == 2 ? Shape{ends[0], x[0], y[1]} : Shape{x[0], y[2]}};
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

namespace {

// The group that each row belongs to; the number of groups means none.
std::vector<std::int64_t> groups_of_rows(const HostTensor& ends, std::int64_t rows) {
  std::vector<std::int64_t> groups;
  std::int64_t group = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    while (group < ends.count() && ends.get(group).integer <= row) ++group;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

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

HostTensor meaning(The<Op::grouped_matmul>, const Node& node, const Operands& operands) {
  const HostTensor &a = *operands[0], &b = *operands[1], &ends = *operands[2];
  const bool by_rows = b.shape.rank() == 3;
  const std::int64_t n = b.shape[-1], depth = a.shape[1], rows = by_rows ? a.shape[0] : depth;
  const std::vector<std::int64_t> groups = groups_of_rows(ends, rows);
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const std::int64_t column = i % n, line = i / n % a.shape[0], group = i / n / a.shape[0];
    double total = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t own = groups[static_cast<std::size_t>(by_rows ? line : k)];
      if (own == ends.count() || (!by_rows && own != group)) continue;
      total +=
          a.number(line * depth + k) * b.number(((by_rows ? own * depth : 0) + k) * n + column);
    }
    result.set_number(i, total);
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
