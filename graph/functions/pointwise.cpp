// The user's pointwise functions.
#include <algorithm>
#include <cmath>
#include <span>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/ruled_functions.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Attributes;
using graph::Op;

namespace {

Tensor unary(Op op, const TensorOperand& x, const Attributes& attributes = {}) {
  std::string_view name = graph::info(op).name;
  const graph::AutocastCall cast(name, x.where);
  Tensor operand = cast(graph::tensor_of(x, name));
  if (graph::info(op).floating_only && !is_floating(operand.dtype()))
    operand = operand.to(DType::f32, x.where);
  return graph::apply(op, {operand}, attributes, x.where);
}

// True if a float of 16 bits cannot hold the number: it is finite and would be infinite there, or
// 0.
bool is_beyond(const Number& number, DType dtype) {
  if (!is_floating(dtype) || bit_width(dtype) != 16) return false;
  const auto wide = static_cast<float>(number.as_double());
  const float narrow = dispatch(
      dtype, [&](auto zero) { return static_cast<float>(static_cast<decltype(zero)>(wide)); });
  return std::isfinite(wide) && (std::isinf(narrow) || (narrow == 0 && wide != 0));
}
// As in PyTorch, whose products of 16 bits are made in f32 and have numbers so: (1 - mask) * -1e9
// is 0 where the mask is 1.
bool has_number_beyond(Op op, std::span<const TensorOperand* const> operands) {
  if (op != Op::mul && op != Op::div) return false;  // a sum is infinite either way
  if (std::ranges::none_of(operands, [](const TensorOperand* x) { return x->is_number; }))
    return false;
  const DType dtype = graph::common_dtype(graph::info(op).name, operands);
  return std::ranges::any_of(operands, [&](const TensorOperand* x) {
    return x->is_number && is_beyond(x->number, dtype);
  });
}

Tensor binary(Op op, const TensorOperand& a, const TensorOperand& b) {
  const TensorOperand* operands[2] = {&a, &b};
  if (has_number_beyond(op, operands)) {
    const Tensor& tensor = a.is_number ? b.tensor : a.tensor;
    const Tensor wide = tensor.to(DType::f32, a.where);
    const TensorOperand operand(wide, a.where);
    return binary(op, a.is_number ? a : operand, a.is_number ? operand : b)
        .to(tensor.dtype(), a.where);
  }
  bool divides = graph::info(op).tile_op == ir::Op::div_;
  return graph::apply(op, graph::broadcast_operands(graph::info(op).name, operands, divides), {},
                      a.where);
}

// An operand of a logical operation: true where it is not 0.
TensorOperand truth(const TensorOperand& x) {
  if (x.is_number) return {x.number.as_double() != 0, x.where};
  return {x.tensor.to(DType::boolean, x.where), x.where};
}
Tensor logical(Op op, const TensorOperand& a, const TensorOperand& b) {
  TensorOperand x = truth(a), y = truth(b);
  const TensorOperand* operands[2] = {&x, &y};
  return graph::apply(op, graph::broadcast_operands(graph::info(op).name, operands), {}, a.where);
}

// Rounds to whole numbers, as which integers are.
Tensor rounded(Op op, const TensorOperand& x) {
  const Tensor& operand = graph::tensor_of(x, graph::info(op).name);
  if (is_integer(operand.dtype())) return operand.clone(x.where);
  return graph::apply(op, {operand}, {}, x.where);
}

void require_divides(std::string_view name, const Tensor& quotient_type, const TensorOperand& by) {
  require(is_floating(quotient_type.dtype()) || !by.is_number || by.number.as_double() != 0, "[",
          name, "] the divisor of integers is the number 0 (at ", At{by.where},
          "); divide by another one, or floating tensors");
}
// The quotient or remainder in the operands' own dtype.
Tensor divided(Op op, std::string_view name, const TensorOperand& a, const TensorOperand& b) {
  const TensorOperand* operands[2] = {&a, &b};
  std::vector<Tensor> both = graph::broadcast_operands(name, operands);
  require_divides(name, both[0], b);
  return graph::apply(op, both, {}, a.where);
}

}  // namespace

Tensor operator+(const TensorOperand& a, const TensorOperand& b) { return binary(Op::add, a, b); }
Tensor operator-(const TensorOperand& a, const TensorOperand& b) { return binary(Op::sub, a, b); }
Tensor operator*(const TensorOperand& a, const TensorOperand& b) { return binary(Op::mul, a, b); }
Tensor operator/(const TensorOperand& a, const TensorOperand& b) { return binary(Op::div, a, b); }
Tensor operator-(const TensorOperand& a) { return unary(Op::neg, a); }
Tensor operator==(const TensorOperand& a, const TensorOperand& b) { return binary(Op::eq, a, b); }
Tensor operator!=(const TensorOperand& a, const TensorOperand& b) { return binary(Op::ne, a, b); }
Tensor operator<(const TensorOperand& a, const TensorOperand& b) { return binary(Op::lt, a, b); }
Tensor operator<=(const TensorOperand& a, const TensorOperand& b) { return binary(Op::le, a, b); }
Tensor operator>(const TensorOperand& a, const TensorOperand& b) { return binary(Op::gt, a, b); }
Tensor operator>=(const TensorOperand& a, const TensorOperand& b) { return binary(Op::ge, a, b); }
Tensor operator&(const TensorOperand& a, const TensorOperand& b) { return bitwise_and(a, b); }
Tensor operator|(const TensorOperand& a, const TensorOperand& b) { return bitwise_or(a, b); }
Tensor operator^(const TensorOperand& a, const TensorOperand& b) { return bitwise_xor(a, b); }
Tensor operator%(const TensorOperand& a, const TensorOperand& b) { return remainder(a, b); }
Tensor operator<<(const TensorOperand& a, const TensorOperand& b) { return shift_left(a, b); }
Tensor operator>>(const TensorOperand& a, const TensorOperand& b) { return shift_right(a, b); }
Tensor operator~(const TensorOperand& x) { return bitwise_not(x); }
Tensor operator!(const TensorOperand& x) { return logical_not(x); }
Tensor maximum(const TensorOperand& a, const TensorOperand& b) { return binary(Op::maximum, a, b); }
Tensor minimum(const TensorOperand& a, const TensorOperand& b) { return binary(Op::minimum, a, b); }
static Tensor clamp_by(const TensorOperand& x, const std::optional<TensorOperand>& least,
                       const std::optional<TensorOperand>& most) {
  require(least || most, "[clamp] neither bound is given (at ", At{x.where},
          "); give the least value, the most, or both");
  std::vector<const TensorOperand*> all = {&x};
  if (least) all.push_back(&*least);
  if (most) all.push_back(&*most);
  auto bounded = [&](std::span<const Tensor> operands) -> std::vector<Tensor> {
    Tensor result = operands[0];
    if (least) result = graph::apply(Op::maximum, {result, operands[1]}, {}, x.where);
    if (most) result = graph::apply(Op::minimum, {result, operands.back()}, {}, x.where);
    return {result};
  };
  const std::vector<Tensor> operands = graph::broadcast_operands("clamp", all);
  if ((least && !least->is_number) || (most && !most->is_number)) return bounded(operands)[0];
  const double low = least ? least->number.as_double() : -graph::infinity,
               high = most ? most->number.as_double() : graph::infinity;
  return graph::with_rule("clamp", operands, {low, high}, bounded, x.where)[0];
}

// An integer that is a limit for elements of the dtype, as near to it as they have one: a limit
// outside of their range limits nothing, and must not wrap.
static TensorOperand within_range(const TensorOperand& limit, DType dtype) {
  std::int64_t steps = std::int64_t{1} << (bit_width(dtype) - (is_signed(dtype) ? 1 : 0));
  std::int64_t lowest = is_signed(dtype) ? -steps : 0;
  return {std::clamp(limit.number.as_integer(), lowest, steps - 1), limit.where};
}

Tensor clamp(const TensorOperand& x, const std::optional<TensorOperand>& least,
             const std::optional<TensorOperand>& most) {
  DType dtype = graph::tensor_of(x, "clamp").dtype();
  auto is_integer_or_none = [](const std::optional<TensorOperand>& limit) {
    return !limit || (limit->is_number && limit->number.is_integral());
  };
  if (is_integer(dtype) && bit_width(dtype) < 64 && is_integer_or_none(least) &&
      is_integer_or_none(most)) {
    std::optional<TensorOperand> low, high;
    if (least) low = within_range(*least, dtype);
    if (most) high = within_range(*most, dtype);
    return clamp_by(x, low, high);
  }
  return clamp_by(x, least, most);
}
Tensor remainder(const TensorOperand& a, const TensorOperand& b) {
  return divided(Op::remainder, "remainder", a, b);
}
Tensor fmod(const TensorOperand& a, const TensorOperand& b) {
  return divided(Op::fmod, "fmod", a, b);
}
Tensor floor_divide(const TensorOperand& a, const TensorOperand& b) {
  return divided(Op::floor_divide, "floor_divide", a, b);
}
Tensor div(const TensorOperand& a, const TensorOperand& b, RoundingMode mode) {
  if (mode == RoundingMode::none) return a / b;
  if (mode == RoundingMode::floor) return divided(Op::floor_divide, "div", a, b);
  Tensor quotient = divided(Op::div, "div", a, b);
  if (!is_floating(quotient.dtype())) return quotient;
  auto w = a.where;
  return where({TensorOperand(quotient, w) < TensorOperand(0, w), w}, {ceil({quotient, w}), w},
               {floor({quotient, w}), w});
}
#define TILEWRIGHT_BITS(name) \
  Tensor name(const TensorOperand& a, const TensorOperand& b) { return binary(Op::name, a, b); }
TILEWRIGHT_BITS(bitwise_and)
TILEWRIGHT_BITS(bitwise_or)
TILEWRIGHT_BITS(bitwise_xor)
TILEWRIGHT_BITS(shift_left)
TILEWRIGHT_BITS(shift_right)
#undef TILEWRIGHT_BITS
Tensor logical_and(const TensorOperand& a, const TensorOperand& b) {
  return logical(Op::logical_and, a, b);
}
Tensor logical_or(const TensorOperand& a, const TensorOperand& b) {
  return logical(Op::logical_or, a, b);
}

#define TILEWRIGHT_FUNCTION_unary(name) \
  Tensor name(const TensorOperand& x) { return unary(Op::name, x); }
#define TILEWRIGHT_FUNCTION_own(name)
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  TILEWRIGHT_FUNCTION_##function(name)
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
#undef TILEWRIGHT_FUNCTION_own
#undef TILEWRIGHT_FUNCTION_unary
Tensor floor(const TensorOperand& x) { return rounded(Op::floor, x); }
Tensor ceil(const TensorOperand& x) { return rounded(Op::ceil, x); }
Tensor round(const TensorOperand& x) { return rounded(Op::round, x); }

Tensor square(const TensorOperand& x) {
  const Tensor& operand = graph::tensor_of(x, "square");
  if (!is_boolean(operand.dtype())) return unary(Op::square, x);
  return unary(Op::square, {operand.to(DType::i64, x.where), x.where});
}

Tensor logical_not(const TensorOperand& x) {
  graph::tensor_of(x, "logical_not");
  return unary(Op::logical_not, truth(x));
}

Tensor softplus(const TensorOperand& x, double beta, double threshold) {
  Attributes attributes;
  attributes.number = beta;
  attributes.threshold = threshold;
  return unary(Op::softplus, x, attributes);
}

Tensor gelu(const TensorOperand& x, GeluForm form) {
  Attributes attributes;
  attributes.tanh_form = form == GeluForm::tanh;
  return unary(Op::gelu, x, attributes);
}

Tensor where(const TensorOperand& condition, const TensorOperand& a, const TensorOperand& b) {
  const Tensor& mask = graph::tensor_of(condition, "where");
  auto w = condition.where;
  const TensorOperand* choices[2] = {&a, &b};
  DType dtype = a.is_number && b.is_number ? promote(a.number.dtype(), b.number.dtype())
                                           : graph::common_dtype("where", choices);
  std::optional<Shape> shape = mask.shape();
  for (const TensorOperand* choice : {&a, &b}) {
    if (choice->is_number) continue;
    auto wider = broadcast_shapes(*shape, choice->tensor.shape());
    require(wider.has_value(), "[where] shapes do not broadcast: ", *shape, " and ",
            choice->tensor.shape(), " (at ", At{w},
            "); sizes must be equal or 1, counted from the last axis");
    shape = wider;
  }
  auto choice = [&](const TensorOperand& x) {
    if (x.is_number) {
      graph::require_fits(x.number, dtype, "where", w);
      return graph::constant(dtype, *shape, x.number, w);
    }
    return graph::broadcast_to(x.tensor.to(dtype, w), *shape, "where", w);
  };
  return graph::apply(Op::where,
                      {graph::broadcast_to(mask, *shape, "where", w), choice(a), choice(b)}, {}, w);
}

}  // namespace tilewright
