// Operators of two operands or more, element by element.
#include "graph/functions/pointwise/arithmetic.h"

#include <cmath>

#include "graph/functions/pointwise/elementary.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace arithmetic_rows {
namespace {

using Function = Tensor (*)(const Tensor& a, const Tensor& b);
template <Function function>
constexpr auto of_two = [](const Call& c) { return function(c.tensor(0), c.tensor(1)); };
template <Function function>
constexpr auto of_all = [](const Call& c) {
  std::vector<Tensor> operands = c.tensors();
  require(!operands.empty(), "[onnx] it has no inputs; at least one is wanted");
  Tensor result = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) result = function(result, operands[i]);
  return result;
};

Tensor sum_of(const Tensor& a, const Tensor& b) { return a + b; }
Tensor difference(const Tensor& a, const Tensor& b) { return a - b; }
Tensor product(const Tensor& a, const Tensor& b) { return a * b; }
Tensor quotient(const Tensor& a, const Tensor& b) {
  return is_floating(a.dtype()) ? a / b : div(a, b, RoundingMode::trunc);
}
Tensor greater_of(const Tensor& a, const Tensor& b) { return maximum(a, b); }
Tensor less_of(const Tensor& a, const Tensor& b) { return minimum(a, b); }
Tensor is_equal(const Tensor& a, const Tensor& b) { return a == b; }
Tensor is_less(const Tensor& a, const Tensor& b) { return a < b; }
Tensor is_at_most(const Tensor& a, const Tensor& b) { return a <= b; }
Tensor is_greater(const Tensor& a, const Tensor& b) { return a > b; }
Tensor is_at_least(const Tensor& a, const Tensor& b) { return a >= b; }
Tensor both(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
Tensor either(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
Tensor one_alone(const Tensor& a, const Tensor& b) { return logical_xor(a, b); }
Tensor bits_of_both(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
Tensor bits_of_either(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
Tensor bits_of_one(const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }

Tensor remaining(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  bool has_sign_of_dividend = call.flag("fmod", false);
  if (!has_sign_of_dividend && is_floating(a.dtype())) call.refuse("fmod", "must be 1 for floats");
  return has_sign_of_dividend ? fmod(a, b) : remainder(a, b);
}
// A number where the host knows it: squares and roots take a few instructions, other powers many.
TensorOperand exponent_of(const Call& call) {
  const Known* known = call.known(1);
  if (known == nullptr || call.rank(1) != 0) return call.tensor(1);
  return {known->elements[0].as_double(), std::source_location::current()};
}
// Integers to floats, as exact as f64 and cut off. The logarithm of a power and with it the power
// has an error of some units of its last place: one as near as this to an integer is meant to be
// it, and those with whole exponents are computed as integers where these hold them.
Tensor power_of_integers(const Tensor& base, const TensorOperand& given) {
  if (const double number = given.is_number ? given.number.as_double() : -1;
      number >= 0 && number < 64 && std::floor(number) == number)
    return pow(base.to(i64), static_cast<std::int64_t>(number)).to(base.dtype());
  const Tensor exponent = given.is_number ? full({}, given.number, f64) : given.tensor.to(f64),
               power = pow(base.to(f64), exponent), nearest = round(power);
  const Tensor is_near = abs(power - nearest) <= abs(power) * 0x1p-46;
  const Tensor is_whole = logical_and(floor(exponent) == exponent, exponent >= 0.0),
               is_exact = logical_and(is_whole, abs(power) < 0x1p62);
  return where(is_exact, pow(base.to(i64), where(is_exact, exponent, 0.0).to(i64)),
               where(is_near, nearest, power).to(i64))
      .to(base.dtype());
}
// In the dtype of the base.
Tensor power(const Call& call) {
  Tensor base = call.tensor(0), exponent = call.tensor(1);
  if (is_integer(base.dtype()) && is_floating(exponent.dtype()))
    return power_of_integers(base, exponent_of(call));
  if (is_floating(base.dtype()) || is_floating(exponent.dtype())) {
    DType wide = base.dtype() == f64 || exponent.dtype() == f64 ? f64 : f32;
    if (base.dtype() == exponent.dtype()) return pow(base, exponent_of(call));
    return pow(base.to(wide), exponent.to(wide)).to(base.dtype());
  }
  return pow(base.to(i64), exponent.to(i64)).to(base.dtype());
}
Tensor shifted(const Call& call) {
  std::string direction = call.text("direction");
  if (direction == "LEFT") return shift_left(call.tensor(0), call.tensor(1));
  if (direction != "RIGHT") call.refuse("direction", "is neither LEFT nor RIGHT");
  return shift_right(call.tensor(0), call.tensor(1));
}
Tensor mean_of(const Call& call) {
  const DType own = call.dtype(0);
  Tensor sum = call.tensor(0).to(accumulator(own));
  for (std::size_t i = 1; i < call.count(); ++i) sum = sum + call.tensor(i);
  return (sum / static_cast<double>(call.count())).to(own);
}

constexpr Operator rows[] = {
    {"Add", 7, of_two<sum_of>},
    {"And", 7, of_two<both>},
    {"BitShift", 11, by<shifted>},
    {"BitwiseAnd", 18, of_two<bits_of_both>},
    {"BitwiseOr", 18, of_two<bits_of_either>},
    {"BitwiseXor", 18, of_two<bits_of_one>},
    {"Div", 7, of_two<quotient>},
    {"Equal", 7, of_two<is_equal>},
    {"Greater", 7, of_two<is_greater>},
    {"GreaterOrEqual", 12, of_two<is_at_least>},
    {"Less", 7, of_two<is_less>},
    {"LessOrEqual", 12, of_two<is_at_most>},
    {"Max", 6, of_all<greater_of>},
    {"Mean", 6, by<mean_of>},
    {"Min", 6, of_all<less_of>},
    {"Mod", 10, by<remaining>},
    {"Mul", 7, of_two<product>},
    {"Or", 7, of_two<either>},
    {"Pow", 7, by<power>},
    {"Sub", 7, of_two<difference>},
    {"Sum", 6, of_all<sum_of>},
    {"Where", 9, [](const Call& c) { return where(c.tensor(0), c.tensor(1), c.tensor(2)); }},
    {"Xor", 7, of_two<one_alone>},
};

}  // namespace
}  // namespace arithmetic_rows

std::span<const Operator> arithmetic_operators() { return arithmetic_rows::rows; }

}  // namespace tilewright::onnx
