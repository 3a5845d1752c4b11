// Operators of one operand, element by element.
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/special.h"
#include "graph/functions/quantisation/linear.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace function_rows {
namespace {

using Function = Tensor (*)(const TensorOperand& x);
template <Function function>
constexpr auto of_one = [](const Call& c) { return function(c.tensor(0)); };

Tensor infinite(const Call& call) {
  Tensor x = call.tensor(0);
  bool above = call.flag("detect_positive", true), below = call.flag("detect_negative", true);
  if (above && below) return isinf(x);
  if (!above && !below) return zeros(x.shape(), DType::boolean);
  return above ? isposinf(x) : isneginf(x);
}

Tensor converted(const Tensor& x, DType dtype, bool saturates) {
  if (x.dtype() == dtype) return x;
  if (is_boolean(dtype)) return x != 0;
  if (!is_float8(dtype)) return x.to(dtype);
  return saturates ? saturated(x, dtype) : not_saturated(x, dtype);
}

// How numbers become powers of two, a type that is not supported; of others it says nothing.
void read_round_mode(const Call& call) {
  const std::string mode = call.text("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    call.refuse("round_mode", "is none of up, down and nearest");
}
Tensor cast(const Call& call) {
  read_round_mode(call);
  return converted(call.tensor(0), call.dtype("to"), call.flag("saturate", true));
}
Tensor cast_like(const Call& call) {
  read_round_mode(call);
  return converted(call.tensor(0), call.dtype(1), call.flag("saturate", true));
}

constexpr Operator rows[] = {
    {"Abs", 6, of_one<abs>},
    {"Acos", 7, of_one<acos>},
    {"Acosh", 9, of_one<acosh>},
    {"Asin", 7, of_one<asin>},
    {"Asinh", 9, of_one<asinh>},
    {"Atan", 7, of_one<atan>},
    {"Atanh", 9, of_one<atanh>},
    {"BitwiseNot", 18, of_one<bitwise_not>},
    {"Ceil", 6, of_one<ceil>},
    {"Cos", 7, of_one<cos>},
    {"Cosh", 9, of_one<cosh>},
    {"Erf", 9, of_one<erf>},
    {"Exp", 6, of_one<exp>},
    {"Floor", 6, of_one<floor>},
    {"Identity", 1, [](const Call& c) { return c.value(0); }},
    {"IsInf", 10, by<infinite>},
    {"IsNaN", 9, of_one<isnan>},
    {"Log", 6, of_one<log>},
    {"Neg", 6, [](const Call& c) { return -TensorOperand(c.tensor(0)); }},
    {"Not", 1, of_one<logical_not>},
    {"Reciprocal", 6, of_one<reciprocal>},
    {"Relu", 6, of_one<relu>},
    {"Round", 11, of_one<round>},
    {"Sigmoid", 6, of_one<sigmoid>},
    {"Sign", 9, of_one<sign>},
    {"Sin", 7, of_one<sin>},
    {"Sinh", 9, of_one<sinh>},
    {"Sqrt", 6, of_one<sqrt>},
    {"Tan", 7, of_one<tan>},
    {"Tanh", 6, of_one<tanh>},
    {"Cast", 6, by<cast>},
    {"CastLike", 15, by<cast_like>},
};

}  // namespace
}  // namespace function_rows

std::span<const Operator> function_operators() { return function_rows::rows; }

}  // namespace tilewright::onnx
