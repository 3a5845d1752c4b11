// Operators of two operands or more, element by element.
#include "graph/functions/pointwise/arithmetic.h"

#include "graph/functions/pointwise/elementary.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace arithmetic_rows {
namespace {

using Function = Tensor (*)(const TensorOperand& a, const TensorOperand& b);
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

Tensor added(const TensorOperand& a, const TensorOperand& b) { return add(a, b); }
Tensor subtracted(const Call& call) { return sub(call.tensor(0), call.tensor(1)); }
Tensor divided(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  return is_floating(a.dtype()) ? true_divide(a, b) : div(a, b, RoundingMode::trunc);
}

Tensor remaining(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  bool has_sign_of_dividend = call.flag("fmod", false);
  if (!has_sign_of_dividend && is_floating(a.dtype())) call.refuse("fmod", "must be 1 for floats");
  return has_sign_of_dividend ? fmod(a, b) : remainder(a, b);
}
// A floating number where the host knows it: squares and roots take a few instructions, other
// powers many.
TensorOperand exponent_of(const Call& call) {
  const DType base = call.dtype(0), own = call.dtype(1);
  const Known* known = call.known(1);
  const bool may_be_number = is_floating(own) && (is_integer(base) || base == own);
  if (known == nullptr || call.rank(1) != 0 || !may_be_number) return call.tensor(1);
  return {known->elements[0].as_double(), std::source_location::current()};
}
Tensor power(const Call& call) { return pow_in_base_dtype(call.tensor(0), exponent_of(call)); }
Tensor shifted(const Call& call) {
  std::string direction = call.text("direction");
  if (direction == "LEFT") return shift_left(call.tensor(0), call.tensor(1));
  if (direction != "RIGHT") call.refuse("direction", "is neither LEFT nor RIGHT");
  return shift_right(call.tensor(0), call.tensor(1));
}

constexpr Operator rows[] = {
    {"Add", 7, of_two<added>},
    {"And", 7, of_two<logical_and>},
    {"BitShift", 11, by<shifted>},
    {"BitwiseAnd", 18, of_two<bitwise_and>},
    {"BitwiseOr", 18, of_two<bitwise_or>},
    {"BitwiseXor", 18, of_two<bitwise_xor>},
    {"Div", 7, by<divided>},
    {"Equal", 7, of_two<eq>},
    {"Greater", 7, of_two<gt>},
    {"GreaterOrEqual", 12, of_two<ge>},
    {"Less", 7, of_two<lt>},
    {"LessOrEqual", 12, of_two<le>},
    {"Max", 6, of_all<maximum>},
    {"Mean", 6, [](const Call& c) { return elementwise_mean(c.tensors()); }},
    {"Min", 6, of_all<minimum>},
    {"Mod", 10, by<remaining>},
    {"Mul", 7, of_two<mul>},
    {"Or", 7, of_two<logical_or>},
    {"Pow", 7, by<power>},
    {"Sub", 7, by<subtracted>},
    {"Sum", 6, of_all<added>},
    {"Where", 9, [](const Call& c) { return where(c.tensor(0), c.tensor(1), c.tensor(2)); }},
    {"Xor", 7, of_two<logical_xor>},
};

}  // namespace
}  // namespace arithmetic_rows

std::span<const Operator> arithmetic_operators() { return arithmetic_rows::rows; }

}  // namespace tilewright::onnx
