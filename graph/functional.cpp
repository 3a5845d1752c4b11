#include "graph/functional.h"

#include "graph/capture.h"
#include "graph/eager.h"
#include "graph/location.h"
#include "graph/shape_rules.h"
#include "graph/tensor_body.h"
#include "graph/tensor_copy.h"

namespace tilewright::graph {
namespace {

// The shapes of the operands that are tensors, for messages.
struct Shapes {
  std::span<const TensorOperand* const> operands;
};
std::ostream& operator<<(std::ostream& out, Shapes shapes) {
  const char* separator = "";
  for (const TensorOperand* operand : shapes.operands) {
    if (operand->is_number) continue;
    out << separator << operand->tensor.shape();
    separator = ", ";
  }
  return out;
}

// The dtype that a number asks for when it meets tensors of dtype `with`.
DType dtype_with_number(DType with, const TensorOperand& number) {
  if (is_floating(with)) return with;
  if (!number.integral) return DType::f32;
  return is_boolean(with) ? DType::i64 : with;
}

Tensor eager_view(Op op, const TensorBody& body, const Attributes& attributes,
                  std::source_location where, bool& fits) {
  ValueType type{body.dtype, body.placement.shape};
  infer(op, {&type, 1}, attributes, std::nullopt, where);
  auto placement = view_of(op, attributes, body.placement);
  fits = placement.has_value();
  if (!fits) return {};
  Tensor view = make_tensor(body.dtype, *placement, body.buffer);
  view.body()->token = body.token;
  view.body()->is_constant = body.is_constant;
  return view;
}

}  // namespace

Tensor apply(Op op, std::span<const Tensor> operands, const Attributes& attributes,
             std::source_location where, std::optional<DType> dtype) {
  if (Capture* capture = Capture::active())
    return capture->append(op, operands, attributes, dtype, where);
  for (const Tensor& operand : operands)
    if (const TensorBody& body = body_of(operand, info(op).name, where); !body.buffer)
      require_usable(body, info(op).name, where);
  return run_eager(op, operands, attributes, dtype, where);
}

std::optional<Tensor> apply_view(Op op, const Tensor& tensor, const Attributes& attributes,
                                 std::source_location where) {
  const TensorBody& body = body_of(tensor, info(op).name, where);
  Capture* capture = Capture::active();
  if (body.buffer && !(capture && capture->is_written(body))) {
    bool fits = true;
    Tensor view = eager_view(op, body, attributes, where, fits);
    if (!fits) return std::nullopt;
    return view;
  }
  if (!capture) require_usable(body, info(op).name, where);
  return capture->append(op, {&tensor, 1}, attributes, std::nullopt, where);
}

Tensor copy_row_major(const Tensor& concrete) { return copy_to(concrete, concrete.device()); }

Tensor constant(DType dtype, const Shape& shape, double number, std::source_location where) {
  if (Capture* capture = Capture::active())
    return capture->symbolic(capture->constant(dtype, shape, number, where));
  auto buffer = Buffer::allocate(size_bytes(dtype));
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_arithmetic_v<T>)
      *static_cast<T*>(buffer->data()) = T(static_cast<float>(number));
    else if constexpr (std::is_same_v<T, bool>)
      *static_cast<T*>(buffer->data()) = number != 0;
    else if constexpr (std::is_integral_v<T>)
      *static_cast<T*>(buffer->data()) = static_cast<T>(static_cast<std::int64_t>(number));
    else
      *static_cast<T*>(buffer->data()) = static_cast<T>(number);
  });
  Tensor tensor = make_tensor(dtype, {shape, Strides(shape.size(), 0), 0}, std::move(buffer));
  tensor.body()->is_constant = true;
  return tensor;
}

Tensor broadcast_to(const Tensor& tensor, const Shape& shape, std::string_view operation,
                    std::source_location where) {
  if (tensor.shape() == shape) return tensor;
  auto together = broadcast_shapes(tensor.shape(), shape);
  require(together == shape, "[", operation, "] a tensor of shape ", tensor.shape(),
          " does not broadcast to ", shape, " (at ", At{where},
          "); sizes must be equal or 1, counted from the last axis");
  Tensor aligned = tensor;
  if (tensor.rank() < shape.rank()) {
    Shape sizes(static_cast<std::size_t>(shape.rank() - tensor.rank()), 1);
    sizes.insert(sizes.end(), tensor.shape().begin(), tensor.shape().end());
    aligned = *apply_view(Op::reshape, tensor, {.axes = {}, .sizes = sizes}, where);
  }
  return *apply_view(Op::expand, aligned, {.axes = {}, .sizes = shape}, where);
}

DType common_dtype(std::string_view operation, std::span<const TensorOperand* const> operands) {
  std::optional<DType> dtype;
  for (const TensorOperand* operand : operands) {
    if (operand->is_number) continue;
    DType own = body_of(operand->tensor, operation, operand->where).dtype;
    dtype = dtype ? promote(*dtype, own) : own;
  }
  require(dtype.has_value(), "[", operation, "] the operand is no defined tensor (at ",
          At{operands[0]->where}, "); one operand at least must be a tensor");
  for (const TensorOperand* operand : operands)
    if (operand->is_number) dtype = dtype_with_number(*dtype, *operand);
  return *dtype;
}

std::vector<Tensor> broadcast_operands(std::string_view operation,
                                       std::span<const TensorOperand* const> operands,
                                       bool divides) {
  std::source_location where = operands[0]->where;
  DType dtype = common_dtype(operation, operands);
  if (divides && !is_floating(dtype)) dtype = DType::f32;
  std::optional<Shape> shape = Shape{};
  for (const TensorOperand* operand : operands) {
    if (!operand->is_number) shape = broadcast_shapes(*shape, operand->tensor.shape());
    require(shape.has_value(), "[", operation, "] shapes do not broadcast: ", Shapes{operands},
            " (at ", At{where}, "); sizes must be equal or 1, counted from the last axis");
  }
  std::vector<Tensor> result;
  for (const TensorOperand* operand : operands)
    result.push_back(!operand->is_number
                         ? broadcast_to(operand->tensor.to(dtype, where), *shape, operation, where)
                         : constant(dtype, *shape, operand->number, where));
  return result;
}

const Tensor& tensor_of(const TensorOperand& operand, std::string_view operation) {
  require(operand.tensor.defined(), "[", operation, "] the operand is no defined tensor (at ",
          At{operand.where}, "); give a tensor");
  return operand.tensor;
}

int axis_of(int axis, const Shape& shape, std::string_view operation, std::source_location where) {
  auto normal = normalise_axis(axis, shape.rank());
  require(normal.has_value(), "[", operation, "] axis ", axis, " is outside a tensor of shape ",
          shape, " (at ", At{where}, "); it must be in [", -shape.rank(), ", ", shape.rank(), ")");
  return *normal;
}

}  // namespace tilewright::graph
