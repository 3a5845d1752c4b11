#include "graph/ops/family.h"

#include <cmath>
#include <limits>

#include "graph/ops/reductions.h"

namespace tilewright::graph {

namespace rules {

ValueType along_axis(const Application& a) {
  single_axis(a);
  return same_floating(a);
}
ValueType norm(const Application& a) {
  a.need_floating(0);
  a.need_equal_dtypes();
  const Shape& x = a.shape(0);
  a.need(x.rank() >= 1, "x is ", x, "; it needs a last axis");
  for (std::size_t i = 1; i < a.count(); ++i)
    a.need(a.shape(i) == Shape{x[-1]}, "operand ", i, " is ", a.shape(i), ", x is ", x,
           "; weight and bias must have ", x[-1], " elements");
  return a.operands[0];
}

}  // namespace rules

namespace {

// The shape with `axis` shrunk to 1.
Shape statistics_shape(const Shape& shape, int axis) {
  Shape result = shape;
  result[axis] = 1;
  return result;
}

HostTensor softmax(const Node& node, const HostTensor& x, bool logarithm) {
  Shape rows = statistics_shape(x.shape, node.attributes.axes[0]);
  std::vector<double> highest(static_cast<std::size_t>(element_count(rows)),
                              -std::numeric_limits<double>::infinity());
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    double& top = highest[static_cast<std::size_t>(offset_in(rows, index))];
    top = std::fmax(top, x.number(i));
  });
  std::vector<double> total =
      sums(x, rows, [&](double v, std::size_t at) { return std::exp(v - highest[at]); });
  HostTensor result(node.dtype, node.shape);
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(rows, index));
    double shifted = x.number(i) - highest[at];
    result.set_number(i, logarithm ? shifted - std::log(total[at]) : std::exp(shifted) / total[at]);
  });
  return result;
}

}  // namespace

Term decomposition(The<Op::softmax>, const Composite& site) {
  Term x = site.wide(0);
  if (element_count(x.shape()) == 0) return x;
  const auto& axes = site.node.attributes.axes;
  Term e = unary(Op::exp, x - x.reduce(Op::amax, axes).like(x));
  return e * (1.0 / e.reduce(Op::sum, axes)).like(e);
}
HostTensor meaning(The<Op::softmax>, const Node& node, const Operands& x) {
  return softmax(node, *x[0], false);
}

Term decomposition(The<Op::log_softmax>, const Composite& site) {
  Term x = site.wide(0);
  if (element_count(x.shape()) == 0) return x;
  const auto& axes = site.node.attributes.axes;
  Term shifted = x - x.reduce(Op::amax, axes).like(x);
  Term total = unary(Op::exp, shifted).reduce(Op::sum, axes);
  return shifted - unary(Op::log, total).like(x);
}
HostTensor meaning(The<Op::log_softmax>, const Node& node, const Operands& x) {
  return softmax(node, *x[0], true);
}

Term decomposition(The<Op::layer_norm>, const Composite& site) {
  Term x = site.wide(0);
  if (element_count(x.shape()) == 0) return x;
  std::vector<int> last = {x.shape().rank() - 1};
  Term deviation = x - average(x, last).like(x);
  Term variance = average(deviation * deviation, last);
  Term y = deviation * unary(Op::rsqrt, variance + site.node.attributes.number).like(x);
  if (site.has(1)) y = y * site.wide(1).along_rows_of(x);
  if (site.has(2)) y = y + site.wide(2).along_rows_of(x);
  return y;
}
HostTensor meaning(The<Op::layer_norm>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  Shape rows = statistics_shape(x.shape, x.shape.rank() - 1);
  std::vector<double> mean = means(x, rows), variance = variances(x, rows, mean);
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t column = i % x.shape[-1];
    auto row = static_cast<std::size_t>(i / x.shape[-1]);
    double value = (x.number(i) - mean[row]) / std::sqrt(variance[row] + node.attributes.number);
    if (operands.size() > 1) value *= operands[1]->number(column);
    if (operands.size() > 2) value += operands[2]->number(column);
    result.set_number(i, value);
  }
  return result;
}

Term decomposition(The<Op::rms_norm>, const Composite& site) {
  Term x = site.wide(0);
  if (element_count(x.shape()) == 0) return x;
  Term square = average(x * x, {x.shape().rank() - 1});
  Term y = x * unary(Op::rsqrt, square + site.node.attributes.number).like(x);
  return site.has(1) ? y * site.wide(1).along_rows_of(x) : y;
}
HostTensor meaning(The<Op::rms_norm>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  Shape rows = statistics_shape(x.shape, x.shape.rank() - 1);
  auto n = static_cast<double>(x.shape[-1]);
  std::vector<double> squares = sums(x, rows, [n](double v, std::size_t) { return v * v / n; });
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    auto row = static_cast<std::size_t>(i / x.shape[-1]);
    double value = x.number(i) / std::sqrt(squares[row] + node.attributes.number);
    if (operands.size() > 1) value *= operands[1]->number(i % x.shape[-1]);
    result.set_number(i, value);
  }
  return result;
}

}  // namespace tilewright::graph
