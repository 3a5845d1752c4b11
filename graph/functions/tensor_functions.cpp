// The user's functions that are not pointwise: constants, reductions, products, gathers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/norms.h"
#include "graph/ir/location.h"
#include "graph/ir/shape_rules.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"

namespace tilewright {

using graph::At;
using graph::Attributes;
using graph::Capture;
using graph::Op;
using std::source_location;

Tensor full(const Sizes& shape, const Number& value, DType dtype, source_location w) {
  graph::require_fits(value, dtype, "full", w);
  const bool is_whole = value.is_integral() || std::trunc(value.as_double()) == value.as_double();
  require(is_whole || is_floating(dtype) || is_boolean(dtype), "[full] ", value.as_double(),
          " is no ", dtype, " (at ", At{w}, "); give a whole number, or a dtype of floats");
  Attributes sizes;
  sizes.sizes = shape;
  graph::infer(Op::full, {}, sizes, dtype, w);
  Tensor constant = graph::constant(dtype, shape, value, w);
  if (constant.is_symbolic()) return constant;
  Tensor whole = graph::copy_row_major(constant);
  whole.body()->is_constant = true;
  return whole;
}
Tensor zeros(const Sizes& shape, DType dtype, source_location w) {
  return full(shape, 0, dtype, w);
}
Tensor ones(const Sizes& shape, DType dtype, source_location w) { return full(shape, 1, dtype, w); }

namespace {

Tensor steps_of_integers(std::int64_t start, std::int64_t end, std::int64_t step, DType dtype,
                         source_location w) {
  Attributes attributes;
  attributes.start = start;
  attributes.end = end;
  attributes.step = step;
  return graph::apply(Op::arange, {}, attributes, w, dtype);
}

// Each element computed in f64 and rounded once, as PyTorch's on the host.
Tensor steps_of_floats(double start, double end, double step, DType dtype, source_location w) {
  const double count = std::ceil((end - start) / step);
  require(step != 0 && std::isfinite(start) && std::isfinite(end) && count <= INT32_MAX,
          "[arange] from ", start, " to ", end, " by ", step, " (at ", At{w},
          "); the step must not be 0, nor any number infinite, for fewer than 2^31 elements");
  const std::int64_t elements = count > 0 ? static_cast<std::int64_t>(count) : 0;
  const Tensor places = steps_of_integers(0, elements, 1, DType::i64, w).to(DType::f64, w);
  return add({mul({places, w}, {step, w}), w}, {start, w}).to(dtype, w);
}

}  // namespace

Tensor arange(const Number& start, const Number& end, const Number& step,
              std::optional<DType> dtype, source_location w) {
  const bool are_integers = start.is_integral() && end.is_integral() && step.is_integral();
  const DType type = dtype.value_or(are_integers ? DType::i64 : DType::f32);
  auto is_whole = [](const Number& number) {
    return number.is_integral() || std::trunc(number.as_double()) == number.as_double();
  };
  require(is_floating(type) || (is_whole(start) && is_whole(end) && is_whole(step)),
          "[arange] from ", start.as_double(), " to ", end.as_double(), " by ", step.as_double(),
          " in ", type, " (at ", At{w}, "); give whole numbers, or a dtype of floats");
  auto whole = [](const Number& number) {
    return number.is_integral() ? number.as_integer()
                                : static_cast<std::int64_t>(number.as_double());
  };
  Tensor result =
      are_integers || !is_floating(type)
          ? steps_of_integers(whole(start), whole(end), whole(step), type, w)
          : steps_of_floats(start.as_double(), end.as_double(), step.as_double(), type, w);
  result.body()->is_constant = !result.is_symbolic();
  return result;
}
Tensor arange(const Number& end, std::optional<DType> dtype, source_location w) {
  return arange(0, end, 1, dtype, w);
}

namespace {

// An axis that the user names. As in PyTorch, a tensor without axes may be indexed as if it had one
// of size 1.
std::optional<int> axis_named(int axis, const Shape& shape, std::string_view name,
                              source_location w) {
  if (shape.empty() && (axis == 0 || axis == -1)) return std::nullopt;
  return graph::axis_of(axis, shape, name, w);
}

std::vector<int> reduced_axes(const std::vector<int>& named, const Shape& shape,
                              std::string_view name, source_location w) {
  std::vector<int> axes;
  for (int given : named)
    if (auto axis = axis_named(given, shape, name, w)) axes.push_back(*axis);
  if (named.empty()) {
    axes.resize(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::ranges::sort(axes);
  auto twice = std::ranges::adjacent_find(axes);
  require(twice == axes.end(), "[", name, "] axis ", twice == axes.end() ? 0 : *twice,
          " is named twice (at ", At{w}, "); each axis may be named once");
  return axes;
}

Tensor without_axes(const Tensor& result, const std::vector<int>& axes, source_location w) {
  Shape sizes;
  for (int axis = 0; axis < result.rank(); ++axis)
    if (!std::ranges::binary_search(axes, axis)) sizes.push_back(result.shape()[axis]);
  return result.reshape(sizes, w);
}

Tensor reduce(Op op, const TensorOperand& x, const std::vector<int>& axes, bool keep_dims,
              double number = 0) {
  std::string_view name = graph::info(op).name;
  Tensor operand = graph::tensor_of(x, name);
  Attributes attributes;
  attributes.axes = reduced_axes(axes, operand.shape(), name, x.where);
  attributes.number = number;
  Tensor result = graph::apply(op, {operand}, attributes, x.where);
  return keep_dims ? result : without_axes(result, attributes.axes, x.where);
}

// Sums and products of integers are made in 64 bits, as in PyTorch.
Tensor reduce_wide(Op op, const TensorOperand& x, const std::vector<int>& axes, bool keep_dims) {
  const graph::AutocastCall cast(graph::info(op).name, x.where);
  Tensor operand = cast(graph::tensor_of(x, graph::info(op).name));
  if (!is_floating(operand.dtype())) operand = operand.to(DType::i64, x.where);
  return reduce(op, {operand, x.where}, axes, keep_dims);
}

// `of_bool` is what the reduction is of bool.
Tensor reduce_or_boolean(Op op, Op of_bool, const TensorOperand& x, const std::vector<int>& axes,
                         bool keep_dims) {
  const Tensor& operand = graph::tensor_of(x, graph::info(op).name);
  for (int axis : reduced_axes(axes, operand.shape(), graph::info(op).name, x.where))
    require(operand.size(axis) > 0 || !is_boolean(operand.dtype()), "[", graph::info(op).name,
            "] axis ", axis, " of shape ", operand.shape(), " is empty (at ", At{x.where},
            "); this reduction needs an element");
  return reduce(is_boolean(operand.dtype()) ? of_bool : op, x, axes, keep_dims);
}

Tensor reduce_truth(Op op, const TensorOperand& x, const std::vector<int>& axes, bool keep_dims) {
  Tensor operand = graph::tensor_of(x, graph::info(op).name);
  return reduce(op, {operand.to(DType::boolean, x.where), x.where}, axes, keep_dims);
}

Tensor place_of_extremum(Op op, const TensorOperand& x, std::optional<int> axis, bool keep_dims) {
  std::string_view name = graph::info(op).name;
  Tensor operand = graph::tensor_of(x, name);
  bool is_flat = !axis || operand.rank() == 0;
  if (axis) axis = axis_named(*axis, operand.shape(), name, x.where);
  Shape all_kept(operand.shape().size(), 1);
  if (is_flat) operand = graph::reshape_operand(operand, {operand.count()}, x.where);
  Attributes attributes;
  attributes.axes = {is_flat ? 0 : *axis};
  Tensor result = graph::apply(op, {operand}, attributes, x.where);
  if (is_flat) return result.reshape(keep_dims ? all_kept : Shape{}, x.where);
  return keep_dims ? result : without_axes(result, attributes.axes, x.where);
}

// Both results of an op that reduces the axes.
std::pair<Tensor, Tensor> reduce_to_both(Op op, const Tensor& operand, std::vector<int> axes,
                                         bool keep_dims, source_location w, double number = 0) {
  Attributes attributes;
  attributes.axes = std::move(axes);
  attributes.number = number;
  std::vector<Tensor> both = graph::apply_all(op, {&operand, 1}, attributes, w);
  if (!keep_dims)
    for (Tensor& result : both) result = without_axes(result, attributes.axes, w);
  return {both[0], both[1]};
}

std::pair<Tensor, Tensor> extremum_and_place(Op op, const TensorOperand& x, int named,
                                             bool keep_dims) {
  std::string_view name = graph::info(op).name;
  const Tensor& operand = graph::tensor_of(x, name);
  if (auto axis = axis_named(named, operand.shape(), name, x.where))
    return reduce_to_both(op, operand, {*axis}, keep_dims, x.where);
  return reduce_to_both(op, graph::reshape_operand(operand, {1}, x.where), {0}, false, x.where);
}

Tensor along_axis(Op op, const TensorOperand& x, int axis) {
  std::string_view name = graph::info(op).name;
  const graph::AutocastCall cast(name, x.where);
  Tensor operand = cast(graph::tensor_of(x, name));
  if (!is_floating(operand.dtype())) operand = operand.to(DType::f32, x.where);
  auto along = axis_named(axis, operand.shape(), name, x.where);
  Attributes attributes;
  attributes.axes = {along.value_or(0)};
  if (along) return graph::apply(op, {operand}, attributes, x.where);
  return graph::apply(op, {graph::reshape_operand(operand, {1}, x.where)}, attributes, x.where)
      .reshape({}, x.where);
}

}  // namespace

Tensor sum(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce_wide(Op::sum, x, axes, keep_dims);
}
Tensor prod(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce_wide(Op::prod, x, axes, keep_dims);
}
Tensor mean(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce(Op::mean, x, axes, keep_dims);
}
Tensor var(const TensorOperand& x, const Axes& axes, std::int64_t correction, bool keep_dims) {
  return reduce(Op::var, x, axes, keep_dims, static_cast<double>(correction));
}
Tensor stddev(const TensorOperand& x, const Axes& axes, std::int64_t correction, bool keep_dims) {
  return reduce(Op::stddev, x, axes, keep_dims, static_cast<double>(correction));
}
Tensor amax(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce_or_boolean(Op::amax, Op::any, x, axes, keep_dims);
}
Tensor amin(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce_or_boolean(Op::amin, Op::all, x, axes, keep_dims);
}
Tensor any(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce_truth(Op::any, x, axes, keep_dims);
}
Tensor all(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return reduce_truth(Op::all, x, axes, keep_dims);
}
Tensor argmax(const TensorOperand& x, std::optional<int> axis, bool keep_dims) {
  return place_of_extremum(Op::argmax, x, axis, keep_dims);
}
Tensor argmin(const TensorOperand& x, std::optional<int> axis, bool keep_dims) {
  return place_of_extremum(Op::argmin, x, axis, keep_dims);
}
std::pair<Tensor, Tensor> max(const TensorOperand& x, int axis, bool keep_dims) {
  return extremum_and_place(Op::max, x, axis, keep_dims);
}
std::pair<Tensor, Tensor> min(const TensorOperand& x, int axis, bool keep_dims) {
  return extremum_and_place(Op::min, x, axis, keep_dims);
}
std::pair<Tensor, Tensor> aminmax(const TensorOperand& x, std::optional<int> axis, bool keep_dims) {
  const Tensor& operand = graph::tensor_of(x, "aminmax");
  std::vector<int> named;
  if (axis) named = {*axis};
  return reduce_to_both(Op::aminmax, operand,
                        reduced_axes(named, operand.shape(), "aminmax", x.where), keep_dims,
                        x.where);
}
std::pair<Tensor, Tensor> var_mean(const TensorOperand& x, const Axes& axes,
                                   std::int64_t correction, bool keep_dims) {
  const Tensor& operand = graph::tensor_of(x, "var_mean");
  return reduce_to_both(Op::var_mean, operand,
                        reduced_axes(axes, operand.shape(), "var_mean", x.where), keep_dims,
                        x.where, static_cast<double>(correction));
}
Tensor softmax(const TensorOperand& x, int axis) { return along_axis(Op::softmax, x, axis); }
Tensor log_softmax(const TensorOperand& x, int axis) {
  return along_axis(Op::log_softmax, x, axis);
}

Tensor layer_norm(const TensorOperand& x, const Tensor& weight, const Tensor& bias, double eps) {
  if (const graph::AutocastCall cast("layer_norm", x.where); cast.is_listed())
    return layer_norm(cast(x), cast(weight), cast(bias), eps);
  std::vector<Tensor> operands = {graph::tensor_of(x, "layer_norm")};
  if (weight.defined() && is_float16(operands[0].dtype()) && weight.dtype() == DType::f32)
    return layer_norm(x, weight.shape(), weight, bias, eps);
  require(weight.defined() || !bias.defined(),
          "[layer_norm] a bias was given without a weight (at ", At{x.where},
          "); give a weight too, of ones if need be");
  for (const Tensor& parameter : {weight, bias})
    if (parameter.defined()) operands.push_back(parameter);
  Attributes attributes;
  attributes.number = eps;
  return graph::apply(Op::layer_norm, operands, attributes, x.where);
}
Tensor rms_norm(const TensorOperand& x, const Tensor& weight, std::optional<double> eps) {
  if (const graph::AutocastCall cast("rms_norm", x.where); cast.is_listed())
    return rms_norm(cast(x), cast(weight), eps);
  std::vector<Tensor> operands = {graph::tensor_of(x, "rms_norm")};
  if (weight.defined() && is_float16(operands[0].dtype()) && weight.dtype() == DType::f32)
    return rms_norm(x, weight.shape(), weight, eps);
  const double step = std::ldexp(1.0, 1 - digits(accumulator(operands.front().dtype())));
  if (weight.defined()) operands.push_back(weight);
  Attributes attributes;
  attributes.number = eps.value_or(step);
  return graph::apply(Op::rms_norm, operands, attributes, x.where);
}

Tensor matmul(const TensorOperand& a, const TensorOperand& b, std::optional<DType> dtype) {
  if (const graph::AutocastCall cast("matmul", a.where); cast.is_listed())
    return matmul(cast(a), cast(b), dtype);
  auto w = a.where;
  Tensor x = graph::tensor_of(a, "matmul"), y = graph::tensor_of(b, "matmul");
  auto product = [&](const Tensor& left, const Tensor& right) {
    return graph::apply(Op::matmul, {left, right}, {}, w, dtype);
  };
  if (x.dtype() == y.dtype() && (x.rank() == 1 || y.rank() == 1) && x.rank() * y.rank() > 0) {
    auto as_matrix = [&](const Tensor& t, const Shape& sizes) {
      return TensorOperand(t.rank() == 1 ? graph::reshape_operand(t, sizes, w) : t, w);
    };
    Tensor whole = matmul(as_matrix(x, {1, x.count()}), as_matrix(y, {y.count(), 1}), dtype);
    if (y.rank() == 1) whole = whole.squeeze(-1, w);
    return x.rank() == 1 ? whole.squeeze(y.rank() == 1 ? -1 : -2, w) : whole;
  }
  bool fits = x.dtype() == y.dtype() && x.rank() >= 2 && y.rank() >= 2 && x.size(-1) == y.size(-2);
  if (!fits) return product(x, y);      // raises the rule's error
  if (y.rank() == 2 && x.rank() > 2) {  // one product of all rows
    Shape result = x.shape();
    result[-1] = 1;
    std::int64_t count = element_count(result);
    result[-1] = y.size(1);
    Tensor rows = graph::reshape_operand(x, {count, x.size(-1)}, w);
    return product(rows, y).reshape(result, w);
  }
  auto leading = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  auto batch = broadcast_shapes(leading(x.shape()), leading(y.shape()));
  require(batch.has_value(), "[matmul] leading axes do not broadcast: a is ", x.shape(), ", b is ",
          y.shape(), " (at ", At{w}, "); they must be equal or 1, counted from the last");
  auto spread = [&](const Tensor& t) {
    Shape sizes = *batch;
    sizes.insert(sizes.end(), t.shape().end() - 2, t.shape().end());
    return graph::broadcast_to(t, sizes, "matmul", w);
  };
  return product(spread(x), spread(y));
}

Tensor linear(const TensorOperand& x, const Tensor& weight, const Tensor& bias) {
  if (const graph::AutocastCall cast("linear", x.where); cast.is_listed())
    return linear(cast(x), cast(weight), cast(bias));
  std::vector<Tensor> operands = {graph::tensor_of(x, "linear"), weight};
  if (bias.defined()) operands.push_back(bias);
  return graph::apply(Op::linear, operands, {}, x.where);
}

Tensor embedding(const TensorOperand& ids, const Tensor& table) {
  const Tensor& index = graph::tensor_of(ids, "embedding");
  if (is_integer(index.dtype()) && table.defined() && table.rank() == 2)
    graph::require_inside(index,
                          {"embedding", graph::IndexRange::Noun::id, 0, table.size(0), ids.where});
  return graph::apply(Op::embedding, {table, index}, {}, ids.where);
}

Tensor cat(const std::vector<Tensor>& parts, int axis, source_location w) {
  require(!parts.empty(), "[cat] there are no parts (at ", At{w}, "); give at least one");
  std::vector<Tensor> operands;
  DType dtype = graph::tensor_of({parts[0], w}, "cat").dtype();
  for (const Tensor& part : parts)
    dtype = promote(dtype, graph::tensor_of({part, w}, "cat").dtype());
  for (const Tensor& part : parts) operands.push_back(part.to(dtype, w));
  Attributes attributes;
  attributes.axes = {graph::axis_of(axis, parts[0].shape(), "cat", w)};
  return graph::apply(Op::cat, operands, attributes, w);
}
Tensor concat(const std::vector<Tensor>& parts, int axis, source_location w) {
  return cat(parts, axis, w);
}

}  // namespace tilewright
