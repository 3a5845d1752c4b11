#include "graph/ops/reductions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/ir/immediates.h"
#include "graph/ir/op_dispatch.h"

namespace tilewright::graph {

namespace rules {

namespace {

ValueType reduce_any_type(const Application& a) {
  ValueType result = a.operands[0];
  const auto& axes = a.attributes.axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    need_axis(a, axes[i], a.shape(0).rank());
    a.need(i == 0 || axes[i - 1] < axes[i], "axes must be named once and in ascending order; axis ",
           axes[i], " is not");
    result.shape[axes[i]] = 1;
  }
  return result;
}

}  // namespace

ValueType reduce(const Application& a) {
  a.need(!is_boolean(a.dtype_of(0)), "the operand is bool; convert with to(i64)");
  a.need_arithmetic(0);
  return reduce_any_type(a);
}
namespace {

void need_elements(const Application& a) {
  for (int axis : a.attributes.axes)
    a.need(axis < 0 || axis >= a.shape(0).rank() || a.shape(0)[axis] > 0, "axis ", axis,
           " of shape ", a.shape(0), " is empty; this reduction needs an element");
}

}  // namespace

// Without elements there is no result.
ValueType reduce_some(const Application& a) {
  need_elements(a);
  return reduce(a);
}
ValueType reduce_boolean(const Application& a) {
  a.need(is_boolean(a.dtype_of(0)), "the operand is ", a.dtype_of(0),
         "; it must be bool: compare with 0 first");
  return reduce_any_type(a);
}
ValueType reduce_floating(const Application& a) {
  a.need_floating(0);
  return reduce(a);
}
// Numbers of elements have 32 bits while they are compared.
void need_countable_axis(const Application& a) {
  const std::int64_t size = a.shape(0)[single_axis(a)];
  a.need(size <= INT32_MAX, "the axis has ", size, " elements; at most ", INT32_MAX,
         " have numbers: reduce parts of it, and then their results");
}
ValueType reduce_to_index(const Application& a) {
  need_countable_axis(a);
  return {DType::i64, reduce_some(a).shape};
}
ValueType extremum_and_place(const Application& a) {
  need_countable_axis(a);
  need_elements(a);
  a.need_arithmetic(0);
  ValueType type = reduce_any_type(a);
  type.others = {{DType::i64, type.shape}};
  return type;
}
ValueType both_extrema(const Application& a) {
  need_elements(a);
  a.need_arithmetic(0);
  ValueType type = reduce_any_type(a);
  type.others = {type};
  return type;
}
ValueType spread_and_mean(const Application& a) {
  ValueType type = reduce_floating(a);
  type.others = {type};
  return type;
}

}  // namespace rules

namespace {

// Reductions visit elements in row-major order, which makes argmax give the first of equals.
HostTensor combined(const Node& node, const HostTensor& x, ir::ReduceKind kind) {
  HostTensor result(node.dtype, node.shape);
  bool floating = is_floating(x.dtype);
  ir::Scalar start = ir::identity(kind, floating ? DType::f64 : x.dtype);
  for (std::int64_t i = 0; i < result.count(); ++i) result.set(i, start);
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    std::int64_t to = offset_in(node.shape, index);
    ir::Scalar before = result.get(to), next = x.get(i);
    if (floating) before.dtype = next.dtype = DType::f64;
    result.set(to, ir::combine(kind, before, next));
  });
  return result;
}
HostTensor extremum(const Node& node, const HostTensor& x, ir::Op op) {
  HostTensor result(node.dtype, node.shape);
  std::vector<bool> seen(static_cast<std::size_t>(result.count()));
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    auto to = static_cast<std::size_t>(offset_in(node.shape, index));
    auto at = static_cast<std::int64_t>(to);
    ir::Scalar pair[2] = {seen[to] ? result.get(at) : x.get(i), x.get(i)};
    if (is_floating(x.dtype)) pair[0].dtype = pair[1].dtype = DType::f64;
    result.set(at, ir::evaluate(op, pair, pair[0].dtype));
    seen[to] = true;
  });
  return result;
}
// The first of the greatest, or of the least.
HostTensor place_of_extremum(const Node& node, const HostTensor& x, bool of_greatest) {
  HostTensor result(DType::i64, node.shape);
  std::vector<std::int64_t> best(static_cast<std::size_t>(result.count()), -1);
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    std::int64_t at = offset_in(node.shape, index);
    std::int64_t& champion = best[static_cast<std::size_t>(at)];
    bool wins = champion < 0;
    if (!wins) {
      ir::Scalar pair[2] = {x.get(of_greatest ? i : champion), x.get(of_greatest ? champion : i)};
      if (is_floating(x.dtype)) pair[0].dtype = pair[1].dtype = DType::f64;
      wins = ir::evaluate(ir::Op::gt_, pair, DType::boolean).integer != 0 ||
             (std::isnan(x.number(i)) && !std::isnan(x.number(champion)));
    }
    if (!wins) return;
    champion = i;
    result.integer[static_cast<std::size_t>(at)] =
        index[static_cast<std::size_t>(node.attributes.axes[0])];
  });
  return result;
}

}  // namespace

HostTensor meaning(The<Op::sum>, const Node& node, const Operands& x) {
  return combined(node, *x[0], ir::ReduceKind::sum);
}
HostTensor meaning(The<Op::prod>, const Node& node, const Operands& x) {
  return combined(node, *x[0], ir::ReduceKind::prod);
}
HostTensor meaning(The<Op::any>, const Node& node, const Operands& x) {
  return combined(node, *x[0], ir::ReduceKind::any);
}
HostTensor meaning(The<Op::all>, const Node& node, const Operands& x) {
  return combined(node, *x[0], ir::ReduceKind::all);
}
HostTensor meaning(The<Op::amax>, const Node& node, const Operands& x) {
  return extremum(node, *x[0], ir::Op::max_);
}
HostTensor meaning(The<Op::amin>, const Node& node, const Operands& x) {
  return extremum(node, *x[0], ir::Op::min_);
}
HostTensor meaning(The<Op::argmax>, const Node& node, const Operands& x) {
  return place_of_extremum(node, *x[0], true);
}
HostTensor meaning(The<Op::argmin>, const Node& node, const Operands& x) {
  return place_of_extremum(node, *x[0], false);
}

HostTensor meaning(The<Op::max>, const Node& node, const Operands& x) {
  HostTensor values = extremum(node, *x[0], ir::Op::max_);
  values.others = {place_of_extremum(node, *x[0], true)};
  return values;
}
HostTensor meaning(The<Op::min>, const Node& node, const Operands& x) {
  HostTensor values = extremum(node, *x[0], ir::Op::min_);
  values.others = {place_of_extremum(node, *x[0], false)};
  return values;
}
HostTensor meaning(The<Op::aminmax>, const Node& node, const Operands& x) {
  HostTensor least = extremum(node, *x[0], ir::Op::min_);
  least.others = {extremum(node, *x[0], ir::Op::max_)};
  return least;
}

namespace {

// The reduction of the operand's numbers, or of its bools where that is another.
Term reduced(const Composite& site, Op of_numbers, Op of_bools) {
  const Term& x = site.operands[0];
  return x.reduce(is_boolean(x.dtype()) ? of_bools : of_numbers, site.node.attributes.axes);
}
// The greatest bool is whether any is true, the least whether all are.
Term greatest(const Composite& site) { return reduced(site, Op::amax, Op::any); }
Term least(const Composite& site) { return reduced(site, Op::amin, Op::all); }
// The result `value` with where it is found. Bool is taken as numbers.
Term with_place(Term value, const Composite& site, Op place) {
  const Term& x = site.operands[0];
  const Term numbers = is_boolean(x.dtype()) ? x.to(DType::u8) : x;
  value.others = {numbers.reduce(place, site.node.attributes.axes).id};
  return value;
}

}  // namespace

Term decomposition(The<Op::max>, const Composite& site) {
  return with_place(greatest(site), site, Op::argmax);
}
Term decomposition(The<Op::min>, const Composite& site) {
  return with_place(least(site), site, Op::argmin);
}
Term decomposition(The<Op::aminmax>, const Composite& site) {
  Term low = least(site);
  low.others = {greatest(site).id};
  return low;
}

namespace {

// The shares of the elements' sum that are one `count`th of it.
Term share(const Term& x, const std::vector<int>& axes, double count) {
  return x.reduce(Op::sum, axes) * (1 / count);
}
std::int64_t elements_over(const Term& x, const std::vector<int>& axes) {
  std::int64_t count = 1;
  for (int axis : axes) count *= x.shape()[axis];
  return count;
}

}  // namespace

Term average(const Term& x, const std::vector<int>& axes) {
  return share(x, axes, static_cast<double>(elements_over(x, axes)));
}

std::vector<double> means(const HostTensor& x, const Shape& to) {
  double n = static_cast<double>(x.count()) / static_cast<double>(element_count(to));
  std::vector<double> totals = sums(x, to, [](double v, std::size_t) { return v; });
  for (double& total : totals) total /= n;
  return totals;
}
std::vector<double> variances(const HostTensor& x, const Shape& to,
                              const std::vector<double>& mean) {
  double n = static_cast<double>(x.count()) / static_cast<double>(element_count(to));
  std::vector<double> totals =
      sums(x, to, [&](double v, std::size_t at) { return (v - mean[at]) * (v - mean[at]); });
  for (double& total : totals) total /= n;
  return totals;
}

Term decomposition(The<Op::mean>, const Composite& site) {
  return average(site.wide(0), site.node.attributes.axes);
}
HostTensor meaning(The<Op::mean>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  result.floating = means(*x[0], node.shape);
  return result;
}

namespace {

// Deviations are from a number near the mean, which is rounded, by more than the deviations where
// these are small beside it. By how much the sum of the deviations tells, which would be 0 (Chan,
// Golub and LeVeque, "Algorithms for computing the sample variance", 1983). Squares of f32 and bf16
// may leave the range of f32 at both ends, where the root of their sum does not: these are f64, as
// PyTorch's. A sum beyond f32 gives no number near the mean, and then 0 does. The mean is result 1.
Term variance_and_mean(const Composite& site) {
  const auto& axes = site.node.attributes.axes;
  const DType wide = site.node.dtype == DType::f16 ? DType::f32 : DType::f64;
  Term rounded = average(site.wide(0), axes);
  const double most = rounded.dtype() == DType::f64 ? std::numeric_limits<double>::max()
                                                    : std::numeric_limits<float>::max();
  Term is_finite = compared(Op::le, unary(Op::abs, rounded), most);
  Term near = choice(is_finite, rounded, rounded.number(0)).to(wide);
  Term x = site.operands[0].to(wide), deviation = x - near.like(x);
  auto elements = static_cast<double>(elements_over(x, axes));
  Term count = near.number(elements), off = deviation.reduce(Op::sum, axes);
  Term squares = (deviation * deviation).reduce(Op::sum, axes) - off * off / count;
  squares = squares.make(Op::maximum, {squares.id, squares.number(0).id});
  Term variance = squares / near.number(std::max(0.0, elements - site.node.attributes.number));
  variance.others = {(near + off / count).id};
  return variance;
}
Term variance(const Composite& site) {
  Term both = variance_and_mean(site);
  return {both.builder, both.id};
}

}  // namespace

Term decomposition(The<Op::var>, const Composite& site) { return variance(site); }
Term decomposition(The<Op::stddev>, const Composite& site) {
  return unary(Op::sqrt, variance(site));
}
HostTensor meaning(The<Op::var>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  double n = static_cast<double>(x[0]->count()) / static_cast<double>(result.count());
  result.floating = variances(*x[0], node.shape, means(*x[0], node.shape));
  for (double& v : result.floating) v *= n / std::max(0.0, n - node.attributes.number);
  return result;
}
Term decomposition(The<Op::var_mean>, const Composite& site) { return variance_and_mean(site); }
HostTensor meaning(The<Op::var_mean>, const Node& node, const Operands& x) {
  HostTensor variance = meaning(The<Op::var>(), node, x);
  variance.others = {meaning(The<Op::mean>(), node, x)};
  return variance;
}
HostTensor meaning(The<Op::stddev>, const Node& node, const Operands& x) {
  HostTensor result = meaning(The<Op::var>(), node, x);
  for (double& v : result.floating) v = std::sqrt(v);
  return result;
}

namespace {
ir::ReduceKind reduce_kind(The<Op::sum>) { return ir::ReduceKind::sum; }
ir::ReduceKind reduce_kind(The<Op::prod>) { return ir::ReduceKind::prod; }
ir::ReduceKind reduce_kind(The<Op::amax>) { return ir::ReduceKind::max; }
ir::ReduceKind reduce_kind(The<Op::amin>) { return ir::ReduceKind::min; }
ir::ReduceKind reduce_kind(The<Op::argmax>) { return ir::ReduceKind::argmax; }
ir::ReduceKind reduce_kind(The<Op::argmin>) { return ir::ReduceKind::argmin; }
ir::ReduceKind reduce_kind(The<Op::any>) { return ir::ReduceKind::any; }
ir::ReduceKind reduce_kind(The<Op::all>) { return ir::ReduceKind::all; }
}  // namespace

ir::ReduceKind kind_of_reduction(Op op) {
  return dispatch_op<Kind::reduction, ir::ReduceKind>(op, [](auto o) { return reduce_kind(o); });
}

}  // namespace tilewright::graph
