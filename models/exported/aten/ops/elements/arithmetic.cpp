// Operators of two operands, element by element: sums, comparisons, bits, choices.
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace arithmetic_rows {
namespace {

using Function = Tensor (*)(const TensorOperand& a, const TensorOperand& b);
template <Function function>
constexpr auto of_two =
    [](const Call& c) { return function(c.operand("self"), c.operand("other")); };

Tensor quotient(const Call& call) {
  std::string mode = call.text("rounding_mode", "none");
  bool is_floor = mode == "floor";
  if (!is_floor && mode != "trunc" && mode != "none")
    call.refuse("rounding_mode", "is neither floor nor trunc");
  return div(call.operand("self"), call.operand("other"),
             is_floor          ? RoundingMode::floor
             : mode == "trunc" ? RoundingMode::trunc
                               : RoundingMode::none);
}

std::optional<TensorOperand> bound(const Call& call, std::string_view name) {
  return call.has(name) ? std::optional(call.operand(name)) : std::nullopt;
}
Tensor clamped(const Call& call) {
  return clamp(call.tensor("self"), bound(call, "min"), bound(call, "max"));
}

// Overloaded operators by names, which a template takes.
Tensor product(const TensorOperand& a, const TensorOperand& b) { return a * b; }
Tensor is_equal(const TensorOperand& a, const TensorOperand& b) { return a == b; }
Tensor is_unequal(const TensorOperand& a, const TensorOperand& b) { return a != b; }
Tensor is_less(const TensorOperand& a, const TensorOperand& b) { return a < b; }
Tensor is_at_most(const TensorOperand& a, const TensorOperand& b) { return a <= b; }
Tensor is_greater(const TensorOperand& a, const TensorOperand& b) { return a > b; }
Tensor is_at_least(const TensorOperand& a, const TensorOperand& b) { return a >= b; }

Tensor plus(const Call& call) {
  return add(call.operand("self"), call.operand("other"), call.scalar("alpha", 1));
}
Tensor minus(const Call& call) {
  return sub(call.operand("self"), call.operand("other"), call.scalar("alpha", 1));
}
Tensor reversed_minus(const Call& call) {
  return rsub(call.operand("self"), call.operand("other"), call.scalar("alpha", 1));
}
Tensor power(const Call& call) { return pow(call.operand("self"), call.operand("exponent")); }

Tensor interpolated(const Call& call) {
  return lerp(call.tensor("self"), call.tensor("end"), call.operand("weight"));
}
using Added = Tensor (*)(const TensorOperand&, const TensorOperand&, const TensorOperand&,
                         const Number&);
template <Added added>
constexpr auto of_three = [](const Call& c) {
  return added(c.tensor("self"), c.tensor("tensor1"), c.tensor("tensor2"), c.scalar("value", 1));
};
Tensor is_close(const Call& call) {
  return isclose(call.tensor("self"), call.tensor("other"),
                 {.rtol = call.number("rtol", 1e-5),
                  .atol = call.number("atol", 1e-8),
                  .equal_nan = call.flag("equal_nan", false)});
}
Tensor is_in(const Call& call) {
  call.flag("assume_unique", false);
  return isin(call.operand(call.has("elements") ? "elements" : "element"),
              call.operand(call.has("test_elements") ? "test_elements" : "test_element"),
              call.flag("invert", false));
}
Tensor float_powered(const Call& call) {
  return float_power(call.operand("self"), call.operand("exponent"));
}

Tensor chosen(const Call& call) {
  const TensorOperand self = call.operand("self"), other = call.operand("other");
  const TensorOperand& tensor = self.is_number ? other : self;
  auto fitting = [&](const TensorOperand& x) -> TensorOperand {
    if (!x.is_number || tensor.is_number || !is_floating(tensor.tensor.dtype())) return x;
    return in_range(x.number.as_double(), tensor.tensor.dtype());
  };
  return where(call.tensor("condition"), fitting(self), fitting(other));
}

constexpr Operator rows[] = {
    {"aten.add.Tensor", by<plus>},
    {"aten.add.Scalar", by<plus>},
    {"aten.sub.Tensor", by<minus>},
    {"aten.sub.Scalar", by<minus>},
    {"aten.rsub.Scalar", by<reversed_minus>},
    {"aten.rsub.Tensor", by<reversed_minus>},
    {"aten.floor_divide.default", of_two<floor_divide>},
    {"aten.floor_divide.Scalar", of_two<floor_divide>},
    {"aten.addcmul.default", of_three<addcmul>},
    {"aten.addcdiv.default", of_three<addcdiv>},
    {"aten.lerp.Scalar", by<interpolated>},
    {"aten.lerp.Tensor", by<interpolated>},
    {"aten.logaddexp.default", of_two<logaddexp>},
    {"aten.logaddexp2.default", of_two<logaddexp2>},
    {"aten.xlogy.Tensor", of_two<xlogy>},
    {"aten.xlogy.Scalar_Other", of_two<xlogy>},
    {"aten.xlogy.Scalar_Self", of_two<xlogy>},
    {"aten.heaviside.default",
     [](const Call& c) { return heaviside(c.tensor("self"), c.tensor("values")); }},
    {"aten.isclose.default", by<is_close>},
    {"aten.isin.Tensor_Tensor", by<is_in>},
    {"aten.isin.Tensor_Scalar", by<is_in>},
    {"aten.isin.Scalar_Tensor", by<is_in>},
    {"aten.float_power.Tensor_Tensor", by<float_powered>},
    {"aten.float_power.Tensor_Scalar", by<float_powered>},
    {"aten.float_power.Scalar", by<float_powered>},
    {"aten.mul.Tensor", of_two<product>},
    {"aten.mul.Scalar", of_two<product>},
    {"aten.div.Tensor", by<quotient>},
    {"aten.div.Scalar", by<quotient>},
    {"aten.div.Tensor_mode", by<quotient>},
    {"aten.div.Scalar_mode", by<quotient>},
    {"aten.fmod.Tensor", of_two<fmod>},
    {"aten.fmod.Scalar", of_two<fmod>},
    {"aten.remainder.Tensor", of_two<remainder>},
    {"aten.remainder.Scalar", of_two<remainder>},
    {"aten.remainder.Scalar_Tensor", of_two<remainder>},
    {"aten.maximum.default", of_two<maximum>},
    {"aten.minimum.default", of_two<minimum>},
    {"aten.max.other", of_two<maximum>},
    {"aten.min.other", of_two<minimum>},
    {"aten.clamp.default", by<clamped>},
    {"aten.clamp.Tensor", by<clamped>},
    {"aten.clamp_min.default",
     [](const Call& c) { return clamp_min(c.tensor("self"), c.operand("min")); }},
    {"aten.clamp_max.default",
     [](const Call& c) { return clamp_max(c.tensor("self"), c.operand("max")); }},
    {"aten.clamp_min.Tensor",
     [](const Call& c) { return clamp_min(c.tensor("self"), c.operand("min")); }},
    {"aten.clamp_max.Tensor",
     [](const Call& c) { return clamp_max(c.tensor("self"), c.operand("max")); }},
    {"aten.pow.Tensor_Scalar", by<power>},
    {"aten.pow.Tensor_Tensor", by<power>},
    {"aten.pow.Scalar", by<power>},
    {"aten.atan2.default", of_two<atan2>},
    {"aten.copysign.Tensor", of_two<copysign>},
    {"aten.copysign.Scalar", of_two<copysign>},
    {"aten.fmax.default", of_two<fmax>},
    {"aten.fmin.default", of_two<fmin>},
    {"aten.gcd.default", of_two<gcd>},
    {"aten.hypot.default", of_two<hypot>},
    {"aten.lcm.default", of_two<lcm>},
    {"aten.ldexp.Tensor", of_two<ldexp>},
    {"aten.nextafter.default", of_two<nextafter>},
    {"aten.eq.Tensor", of_two<is_equal>},
    {"aten.eq.Scalar", of_two<is_equal>},
    {"aten.ne.Tensor", of_two<is_unequal>},
    {"aten.ne.Scalar", of_two<is_unequal>},
    {"aten.lt.Tensor", of_two<is_less>},
    {"aten.lt.Scalar", of_two<is_less>},
    {"aten.le.Tensor", of_two<is_at_most>},
    {"aten.le.Scalar", of_two<is_at_most>},
    {"aten.gt.Tensor", of_two<is_greater>},
    {"aten.gt.Scalar", of_two<is_greater>},
    {"aten.ge.Tensor", of_two<is_at_least>},
    {"aten.ge.Scalar", of_two<is_at_least>},
    {"aten.bitwise_and.Tensor", of_two<bitwise_and>},
    {"aten.bitwise_or.Tensor", of_two<bitwise_or>},
    {"aten.bitwise_xor.Tensor", of_two<bitwise_xor>},
    {"aten.bitwise_and.Scalar", of_two<bitwise_and>},
    {"aten.bitwise_and.Scalar_Tensor", of_two<bitwise_and>},
    {"aten.bitwise_or.Scalar", of_two<bitwise_or>},
    {"aten.bitwise_or.Scalar_Tensor", of_two<bitwise_or>},
    {"aten.bitwise_xor.Scalar", of_two<bitwise_xor>},
    {"aten.bitwise_xor.Scalar_Tensor", of_two<bitwise_xor>},
    {"aten.bitwise_left_shift.Tensor", of_two<shift_left>},
    {"aten.bitwise_left_shift.Tensor_Scalar", of_two<shift_left>},
    {"aten.bitwise_left_shift.Scalar", of_two<shift_left>},
    {"aten.bitwise_left_shift.Scalar_Tensor", of_two<shift_left>},
    {"aten.bitwise_right_shift.Tensor", of_two<shift_right>},
    {"aten.bitwise_right_shift.Tensor_Scalar", of_two<shift_right>},
    {"aten.bitwise_right_shift.Scalar", of_two<shift_right>},
    {"aten.bitwise_right_shift.Scalar_Tensor", of_two<shift_right>},
    {"aten.logical_and.default", of_two<logical_and>},
    {"aten.logical_or.default", of_two<logical_or>},
    {"aten.logical_xor.default", of_two<logical_xor>},
    {"aten.where.self", by<chosen>},
    {"aten.where.ScalarOther", by<chosen>},
    {"aten.where.ScalarSelf", by<chosen>},
    {"aten.where.Scalar", by<chosen>},
};

}  // namespace
}  // namespace arithmetic_rows

std::span<const Operator> arithmetic_operators() { return arithmetic_rows::rows; }

}  // namespace tilewright::exported
