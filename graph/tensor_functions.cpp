// The user's functions that are not pointwise: constants, reductions, products, gathers, attention.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "graph/capture.h"
#include "graph/functional.h"
#include "graph/location.h"
#include "graph/shape_rules.h"
#include "graph/tensor.h"
#include "graph/tensor_body.h"
#include "graph/tensor_copy.h"

namespace tilewright {

using graph::At;
using graph::Attributes;
using graph::Capture;
using graph::Op;
using std::source_location;

Tensor full(const Shape& shape, double value, DType dtype, source_location w) {
  Tensor constant = graph::constant(dtype, shape, value, w);
  if (constant.is_symbolic()) return constant;
  Tensor whole = graph::copy_row_major(constant);
  whole.body()->is_constant = true;
  return whole;
}
Tensor zeros(const Shape& shape, DType dtype, source_location w) {
  return full(shape, 0, dtype, w);
}
Tensor ones(const Shape& shape, DType dtype, source_location w) { return full(shape, 1, dtype, w); }
Tensor arange(std::int64_t start, std::int64_t end, std::int64_t step, DType dtype,
              source_location w) {
  Attributes attributes;
  attributes.start = start;
  attributes.end = end;
  attributes.step = step;
  Tensor result = graph::apply(Op::arange, {}, attributes, w, dtype);
  result.body()->is_constant = !result.is_symbolic();
  return result;
}

namespace {

std::vector<int> reduced_axes(std::vector<int> axes, const Shape& shape, std::string_view name,
                              source_location w) {
  if (axes.empty()) {
    axes.resize(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  for (int& axis : axes) axis = graph::axis_of(axis, shape, name, w);
  std::ranges::sort(axes);
  auto twice = std::ranges::adjacent_find(axes);
  require(twice == axes.end(), "[", name, "] axis ", twice == axes.end() ? 0 : *twice,
          " is named twice (at ", At{w}, "); each axis may be named once");
  return axes;
}

Tensor reduce(Op op, const TensorOperand& x, std::vector<int> axes, bool keep_dims) {
  std::string_view name = graph::info(op).name;
  Tensor operand = graph::tensor_of(x, name);
  Attributes attributes;
  attributes.axes = reduced_axes(std::move(axes), operand.shape(), name, x.where);
  Tensor result = graph::apply(op, {operand}, attributes, x.where);
  if (keep_dims) return result;
  Shape sizes;
  for (int axis = 0; axis < operand.rank(); ++axis)
    if (!std::ranges::binary_search(attributes.axes, axis)) sizes.push_back(operand.shape()[axis]);
  return result.reshape(sizes, x.where);
}

Tensor along_axis(Op op, const TensorOperand& x, int axis) {
  std::string_view name = graph::info(op).name;
  Tensor operand = graph::tensor_of(x, name);
  if (!is_floating(operand.dtype())) operand = operand.to(DType::f32, x.where);
  Attributes attributes;
  attributes.axes = {graph::axis_of(axis, operand.shape(), name, x.where)};
  return graph::apply(op, {operand}, attributes, x.where);
}

}  // namespace

Tensor sum(const TensorOperand& x, std::vector<int> axes, bool keep_dims) {
  // Integers are summed in 64 bits, as in PyTorch.
  Tensor operand = graph::tensor_of(x, "sum");
  if (!is_floating(operand.dtype())) operand = operand.to(DType::i64, x.where);
  return reduce(Op::sum, {operand, x.where}, std::move(axes), keep_dims);
}
Tensor mean(const TensorOperand& x, std::vector<int> axes, bool keep_dims) {
  return reduce(Op::mean, x, std::move(axes), keep_dims);
}
Tensor var(const TensorOperand& x, std::vector<int> axes, bool keep_dims) {
  return reduce(Op::var, x, std::move(axes), keep_dims);
}
Tensor amax(const TensorOperand& x, std::vector<int> axes, bool keep_dims) {
  return reduce(Op::amax, x, std::move(axes), keep_dims);
}
Tensor amin(const TensorOperand& x, std::vector<int> axes, bool keep_dims) {
  return reduce(Op::amin, x, std::move(axes), keep_dims);
}
Tensor argmax(const TensorOperand& x, int axis, bool keep_dims) {
  return reduce(Op::argmax, x, {axis}, keep_dims);
}
Tensor softmax(const TensorOperand& x, int axis) { return along_axis(Op::softmax, x, axis); }
Tensor log_softmax(const TensorOperand& x, int axis) {
  return along_axis(Op::log_softmax, x, axis);
}

Tensor layer_norm(const TensorOperand& x, const Tensor& weight, const Tensor& bias, double eps) {
  std::vector<Tensor> operands = {graph::tensor_of(x, "layer_norm")};
  require(weight.defined() || !bias.defined(),
          "[layer_norm] a bias was given without a weight (at ", At{x.where},
          "); give a weight too, of ones if need be");
  for (const Tensor& parameter : {weight, bias})
    if (parameter.defined()) operands.push_back(parameter);
  Attributes attributes;
  attributes.number = eps;
  return graph::apply(Op::layer_norm, operands, attributes, x.where);
}
Tensor rms_norm(const TensorOperand& x, const Tensor& weight, double eps) {
  std::vector<Tensor> operands = {graph::tensor_of(x, "rms_norm")};
  if (weight.defined()) operands.push_back(weight);
  Attributes attributes;
  attributes.number = eps;
  return graph::apply(Op::rms_norm, operands, attributes, x.where);
}

Tensor matmul(const TensorOperand& a, const TensorOperand& b, std::optional<DType> dtype) {
  auto w = a.where;
  Tensor x = graph::tensor_of(a, "matmul"), y = graph::tensor_of(b, "matmul");
  DType common = promote(x.dtype(), y.dtype());
  x = x.to(common, w);
  y = y.to(common, w);
  auto product = [&](const Tensor& left, const Tensor& right) {
    return graph::apply(Op::matmul, {left, right}, {}, w, dtype);
  };
  if (x.rank() < 2 || y.rank() < 2 || x.size(-1) != y.size(-2))
    return product(x, y);               // raises the rule's error
  if (y.rank() == 2 && x.rank() > 2) {  // one product of all rows
    Shape result = x.shape();
    result[-1] = 1;
    std::int64_t count = element_count(result);
    result[-1] = y.size(1);
    Tensor rows = x.reshape({count, x.size(-1)}, w);
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
  std::vector<Tensor> operands = {graph::tensor_of(x, "linear"), weight};
  if (bias.defined()) operands.push_back(bias);
  return graph::apply(Op::linear, operands, {}, x.where);
}

namespace {

void require_ids_inside(const Tensor& ids, std::int64_t rows, source_location w) {
  for (std::int64_t id : ids.to(DType::i64, w).to_vector<std::int64_t>(w))
    require(id >= 0 && id < rows, "[embedding] id ", id, " is outside a table of ", rows,
            " rows (at ", At{w}, "); ids must be in [0, ", rows, ")");
}

}  // namespace

Tensor embedding(const TensorOperand& ids, const Tensor& table) {
  const Tensor& index = graph::tensor_of(ids, "embedding");
  bool runs = Capture::active() == nullptr && !index.is_symbolic();
  if (runs && is_integer(index.dtype()) && table.defined() && table.rank() == 2)
    require_ids_inside(index, table.size(0), ids.where);
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

Tensor scaled_dot_product_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  std::vector<Tensor> operands = {graph::tensor_of(q, "attention"), k, v};
  if (options.position.defined()) operands.push_back(options.position);
  Attributes attributes;
  attributes.causal = options.causal;
  attributes.window = options.window;
  const Tensor& queries = operands[0];
  std::int64_t depth = queries.rank() == 0 ? 1 : std::max<std::int64_t>(queries.size(-1), 1);
  attributes.number = options.scale.value_or(1 / std::sqrt(static_cast<double>(depth)));
  return graph::apply(Op::attention, operands, attributes, q.where);
}

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined tensor";
  std::ostringstream out;
  out << tensor.dtype() << "[" << tensor.shape() << "]";
  if (tensor.is_symbolic()) return out.str() + " (symbolic)";
  constexpr std::int64_t shown = 8;
  Tensor row = graph::copy_to(tensor, Device::cpu());
  out << " {";
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* elements = static_cast<const T*>(row.data());
    for (std::int64_t i = 0; i < std::min(shown, tensor.count()); ++i) {
      out << (i ? ", " : "");
      if constexpr (!std::is_arithmetic_v<T>)
        out << static_cast<float>(elements[i]);
      else
        out << +elements[i];
    }
  });
  out << (tensor.count() > shown ? ", ...}" : "}");
  return out.str();
}

}  // namespace tilewright
