#include "graph/tensor/functional.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/ir/function.h"
#include "graph/ir/location.h"
#include "graph/ir/shape_rules.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/ruled_functions.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/out_of_memory.h"

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

// What operands of one rank (tensors with axes, tensors without, numbers) meet in; absent: none
// are.
using Met = std::optional<DType>;
Met meet(Met a, Met b) { return a && b ? promote(*a, *b) : a ? a : b; }
// The higher rank decides, unless the lower one is of a higher kind.
Met decide(Met higher, Met lower) {
  if (!higher || !lower || is_floating(*higher)) return higher ? higher : lower;
  return is_boolean(*higher) || is_floating(*lower) ? promote(*higher, *lower) : higher;
}

ir::Scalar scalar_of(const Number& number, DType dtype) {
  double value = number.as_double();
  if (is_floating(dtype)) return ir::Scalar::of(dtype, value);
  if (is_boolean(dtype)) return ir::Scalar::of_integer(dtype, value != 0);
  if (number.is_integral()) return ir::Scalar::of_integer(dtype, number.as_integer());
  if (value < 0x1p63) return ir::Scalar::of(dtype, value);
  return ir::Scalar::of_integer(dtype,
                                static_cast<std::int64_t>(static_cast<std::uint64_t>(value)));
}

Tensor eager_view(Op op, const TensorBody& body, const Attributes& attributes,
                  std::source_location where, bool& fits) {
  ValueType type{body.dtype, body.view.shape};
  infer(op, {&type, 1}, attributes, std::nullopt, where);
  auto viewed = view_of(op, attributes, body.view);
  fits = viewed.has_value();
  if (!fits) return {};
  Tensor view = make_tensor(body.dtype, *viewed, body.buffer);
  view.body()->token = body.token;
  view.body()->is_constant = body.is_constant;
  view.body()->must_share = body.must_share;
  return view;
}

}  // namespace

namespace {

// Operations that run eagerly need tensors with memory.
void require_concrete(std::string_view name, std::span<const Tensor> operands,
                      std::source_location where) {
  for (const Tensor& operand : operands)
    if (const TensorBody& body = body_of(operand, name, where); !body.buffer)
      require_usable(body, name, where);
}

}  // namespace

Tensor apply(Op op, std::span<const Tensor> operands, const Attributes& attributes,
             std::source_location where, std::optional<DType> dtype) {
  if (Capture* capture = Capture::active())
    return capture->append(op, operands, attributes, dtype, where);
  require_concrete(info(op).name, operands, where);
  return std::move(run_eager(op, operands, attributes, dtype, where).front());
}

std::vector<Tensor> apply_all(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                              std::source_location where) {
  if (Capture* capture = Capture::active())
    return capture->append_all(op, operands, attributes, where);
  require_concrete(info(op).name, operands, where);
  return run_eager(op, operands, attributes, std::nullopt, where);
}

namespace {

Hash key_of(const std::vector<Number>& settings, std::span<const Tensor> operands) {
  Hasher hasher;
  for (const Number& setting : settings)
    hasher.add(setting.is_integral()).add(setting.as_double()).add(setting.as_integer());
  for (const Tensor& operand : operands) hasher.add(operand.defined());
  return hasher.finish();
}

std::vector<Tensor> defined_of(std::string_view name, std::span<const Tensor> operands,
                               std::source_location where) {
  std::vector<Tensor> defined;
  for (const Tensor& operand : operands)
    if (operand.defined()) defined.push_back(operand);
  require_concrete(name, defined, where);
  return defined;
}

// The function of the operands that are defined.
auto of_defined(std::span<const Tensor> operands, const TensorsFunction& function) {
  return [operands, &function](std::span<const Tensor> given) {
    std::vector<Tensor> all(operands.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (operands[i].body() != nullptr) all[i] = given[next++];
    return function(all);
  };
}

}  // namespace

std::vector<Tensor> apply_function(std::string_view name, std::span<const Tensor> operands,
                                   const std::vector<Number>& settings,
                                   const TensorsFunction& function, std::source_location where) {
  const AutocastPause pause;
  if (Capture::active() != nullptr)
    return while_doing({name, "recording"},
                       [&] { return with_rule(name, operands, settings, function, where); });
  return run_eager_function(name, key_of(settings, operands), defined_of(name, operands, where),
                            of_defined(operands, function), where);
}

void write_function(std::string_view name, std::span<const Tensor> operands,
                    const std::vector<Number>& settings, const TensorsFunction& function,
                    std::source_location where) {
  Tensor target = operands[0];
  const AutocastPause pause;
  if (Capture::active() != nullptr) return target.copy_from(function(operands)[0], where);
  const std::vector<Tensor> defined = defined_of(name, operands, where);
  const TensorBody& body = *target.body();
  require_writable(body, name, where);
  require_own_elements(body, name, where);
  // Operations run on a GPU where an operand lies on one, which may not be the target.
  auto lies_with_it = [&](const Tensor& operand) {
    return operand.body()->is_constant || memory_of(operand) == memory_of(target);
  };
  if (!std::ranges::all_of(defined, lies_with_it))
    return target.copy_from(apply_function(name, operands, settings, function, where)[0], where);
  run_eager_function_in_place(name, key_of(settings, operands), defined,
                              of_defined(operands, function), where);
}

std::optional<Tensor> apply_view(Op op, const Tensor& tensor, const Attributes& attributes,
                                 std::source_location where) {
  const TensorBody& body = body_of(tensor, info(op).name, where);
  Capture* capture = Capture::active();
  if (body.buffer &&
      !(capture && (capture->is_written(body) || capture->is_differentiated(body)))) {
    bool fits = true;
    Tensor view = eager_view(op, body, attributes, where, fits);
    if (!fits) return std::nullopt;
    return view;
  }
  if (!capture) require_usable(body, info(op).name, where);
  return capture->append(op, {&tensor, 1}, attributes, std::nullopt, where);
}

Tensor constant(DType dtype, const Shape& shape, const Number& number, std::source_location where) {
  const ir::Scalar value = scalar_of(number, dtype);
  if (Capture* capture = Capture::active())
    return capture->symbolic(capture->constant(value, shape, where));
  auto buffer = Buffer::allocate(size_bytes(dtype));
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_arithmetic_v<T>)
      *static_cast<T*>(buffer->data()) = T(static_cast<float>(number.as_double()));
    else if constexpr (std::is_integral_v<T>)
      *static_cast<T*>(buffer->data()) = static_cast<T>(value.integer);
    else
      *static_cast<T*>(buffer->data()) = static_cast<T>(number.as_double());
  });
  Tensor tensor = make_tensor(dtype, {shape, Strides(shape.size(), 0), 0}, std::move(buffer));
  tensor.body()->is_constant = true;
  return tensor;
}

namespace {

// The numbers that a dtype holds, the lowest and the highest, as PyTorch sees it.
std::pair<double, double> bounds_of(DType dtype) {
  return dispatch(dtype, [](auto zero) -> std::pair<double, double> {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half>) return {-65504, 65504};
    if constexpr (std::is_integral_v<T>) {
      auto most = static_cast<double>(std::numeric_limits<T>::max());
      return {std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : -most,
              most};
    }
    if constexpr (std::is_same_v<T, Float8E4M3>) return {-448, 448};
    if constexpr (std::is_same_v<T, Float8E5M2>) return {-57344, 57344};
    auto most = std::is_same_v<T, double> ? std::numeric_limits<double>::max()
                                          : double{std::numeric_limits<float>::max()};
    return {-most, most};
  });
}

}  // namespace

void require_fits(const Number& number, DType dtype, std::string_view operation,
                  std::source_location where) {
  if (is_boolean(dtype)) return;
  auto [low, high] = bounds_of(dtype);
  double value = number.as_double();
  // The highest integer of 64 bits becomes one more as a double.
  bool fits = is_floating(dtype) && !std::isfinite(value);
  if (number.is_integral() && bit_width(dtype) == 64)
    fits = fits || !is_signed(dtype) || (value > 0) == (number.as_integer() > 0);
  else
    fits = fits || (std::trunc(value) >= low && std::trunc(value) <= high &&
                    !(bit_width(dtype) == 64 && !is_floating(dtype) && value >= high));
  if (fits) return;
  std::string text = number.is_integral() ? std::to_string(number.as_integer()) : concat(value);
  raise_error(concat("[", operation, "] ", text, " does not fit ", dtype, " (at ", At{where},
                     "); give a number of ", dtype, " or another dtype"));
}

namespace {

// While a function is captured, operands are viewed in the graph. A view of the memory itself would
// be an input of its own, and the tensor, whose memory it shares, could not be written
// to any more.
Tensor view_of_operand(Op op, const Tensor& tensor, Shape sizes, std::source_location where) {
  Attributes attributes{.axes = {}, .sizes = std::move(sizes)};
  if (Capture* capture = Capture::active())
    return capture->append(op, {&tensor, 1}, std::move(attributes), std::nullopt, where);
  return *apply_view(op, tensor, attributes, where);
}

Tensor broadcast_by(auto view, const Tensor& tensor, const Shape& shape, std::string_view operation,
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
    aligned = view(Op::reshape, tensor, sizes, where);
  }
  return view(Op::expand, aligned, shape, where);
}

}  // namespace

Tensor reshape_operand(const Tensor& tensor, const Shape& shape, std::source_location where) {
  if (Capture::active() == nullptr) return tensor.reshape(shape, where);
  return view_of_operand(Op::reshape, tensor, shape, where);
}

Tensor broadcast_to(const Tensor& tensor, const Shape& shape, std::string_view operation,
                    std::source_location where) {
  // Errors about the tensor name the operation, not the view.
  if (Capture* capture = Capture::active(); capture && tensor.shape() != shape)
    capture->node_of(tensor, operation, where);
  return broadcast_by(view_of_operand, tensor, shape, operation, where);
}

Tensor expanded_view(const Tensor& tensor, const Shape& shape, std::string_view operation,
                     std::source_location where) {
  auto view = [](Op op, const Tensor& of, const Shape& sizes, std::source_location w) {
    return *apply_view(op, of, {.axes = {}, .sizes = sizes}, w);
  };
  return broadcast_by(view, tensor, shape, operation, where);
}

DType common_dtype(std::string_view operation, std::span<const TensorOperand* const> operands) {
  Met tensors, points, numbers;
  for (const TensorOperand* operand : operands) {
    if (operand->is_number) {
      numbers = meet(numbers, operand->number.dtype());
      continue;
    }
    const TensorBody& body = body_of(operand->tensor, operation, operand->where);
    Met& rank = body.view.shape.empty() ? points : tensors;
    rank = meet(rank, body.dtype);
  }
  require(tensors || points, "[", operation, "] the operand is no defined tensor (at ",
          At{operands[0]->where}, "); one operand at least must be a tensor");
  return *decide(tensors, decide(points, numbers));
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
