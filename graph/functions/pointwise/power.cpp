// Powers. With a whole exponent they have a meaning of their own where the base is negative, and
// integers to integers stay exact.
#include <cmath>
#include <limits>

#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::choice;
using graph::Formula;
using graph::Op;
using graph::Terms;

namespace {

// In f64, whose rounding of the product with the logarithm f32 does not see.
Formula power_of_magnitude(const Formula& magnitude, const Formula& exponent) {
  Formula product = exponent.to(DType::f64) * log2(magnitude.to(DType::f64));
  return exp2(product).to(exponent.dtype());
}

Formula power_of_floats(const Formula& base, const Formula& exponent) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  Formula magnitude = abs(base), power = power_of_magnitude(magnitude, exponent);
  power = choice((magnitude == 1) & (exponent == exponent), 1, power);
  Formula is_whole = floor(exponent) == exponent, half = exponent * 0.5;
  Formula is_odd = is_whole & (floor(half) != half);
  power = negated_where(is_odd & is_negative(base), power);
  power = choice((base < 0) & (magnitude < infinity) & !is_whole, none, power);
  return choice((base == 1) | (exponent == 0), 1, power);
}

// The same, where what the exponent is decides beforehand.
Formula power_of_floats(const Formula& base, double exponent) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  Formula magnitude = abs(base), power = power_of_magnitude(magnitude, base.number(exponent));
  if (std::isinf(exponent)) power = choice(magnitude == 1, 1, power);
  if (std::isnan(exponent)) return choice(base == 1, 1, power);
  if (std::floor(exponent) != exponent)
    return choice((base < 0) & (magnitude < infinity), none, power);
  bool is_odd = std::fmod(exponent, 2) != 0 && !std::isinf(exponent);
  return is_odd ? negated_where(is_negative(base), power) : power;
}

// Exponents that need no logarithm; for most PyTorch has these formulas too.
std::optional<Formula> power_by_number(const Formula& x, double exponent) {
  if (exponent == 0) return x.number(1);
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (exponent == 4) return (x * x) * (x * x);
  if (exponent == 0.5) return sqrt(x);
  if (exponent == -0.5) return 1 / sqrt(x);
  if (exponent == -1) return 1 / x;
  if (exponent == -2) return 1 / (x * x);
  return std::nullopt;
}

Formula power_of_integers(const Formula& base, std::int64_t exponent) {
  Formula result = base.number(1), square = base;
  for (auto bits = static_cast<std::uint64_t>(exponent); bits != 0; bits >>= 1) {
    if (bits & 1) result = result * square;
    if (bits > 1) square = square * square;
  }
  return result;
}
// Each bit of the exponents decides whether a square of the base is a factor.
Formula power_of_integers(const Formula& base, const Formula& exponent) {
  Formula one = base.number(1), result = one, square = base, bits = exponent;
  const int count = bit_width(base.dtype()) - (is_signed(base.dtype()) ? 1 : 0);
  for (int i = 0; i < count; ++i) {
    Formula is_set = bits.make(Op::bitwise_and, one) == one;
    result = choice(is_set, result * square, result);
    if (i + 1 == count) break;
    bits = bits.make(Op::shift_right, one);
    square = square * square;
  }
  if (!is_signed(base.dtype())) return result;
  Formula is_odd = exponent.make(Op::bitwise_and, one) == one;
  Formula of_minus_one = choice(is_odd, -one, one);
  Formula inverse = choice(base == 1, one, choice(base == -1, of_minus_one, 0));
  return choice(exponent < 0, inverse, result);
}

}  // namespace

Tensor pow(const TensorOperand& base, const TensorOperand& exponent) {
  Terms terms = graph::widened("pow", {&base, &exponent});
  require(!is_boolean(terms.dtype), "[pow] base and exponent are bool (at ", graph::At{base.where},
          "); convert the base with to(i32), or to another dtype");
  const bool is_float = is_floating(terms.dtype);
  if (!exponent.is_number)
    return graph::computed("pow", terms, [&](const Terms& t) {
      return is_float ? power_of_floats(t[0], t[1]) : power_of_integers(t[0], t[1]);
    });
  terms.terms.pop_back();
  const double number = exponent.number.as_double();
  if (is_float) {
    auto formula = [&](const Terms& t) {
      auto simple = power_by_number(t[0], number);
      return simple ? *simple : power_of_floats(t[0], number);
    };
    return graph::computed("pow", terms, formula, {number});
  }
  const std::int64_t whole = exponent.number.as_integer();
  require(whole >= 0, "[pow] the exponent of integers is the number ", whole, " (at ",
          graph::At{base.where}, "); it must not be negative: convert the base with to(f32)");
  return graph::computed("pow", terms,
                         [&](const Terms& t) { return power_of_integers(t[0], whole); }, {whole});
}

// The logarithm of a power and with it the power has an error of some units of its last place: one
// as near as this to an integer is meant to be it, and those with whole exponents are computed as
// integers where these hold them.
static Tensor integer_power_of_floats(const Tensor& base, const TensorOperand& given) {
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

Tensor pow_in_base_dtype(const TensorOperand& base, const TensorOperand& exponent) {
  return graph::of_user_call("pow", base.where, [&] {
    const Tensor& x = graph::tensor_of(base, "pow");
    if (exponent.is_number)
      return is_integer(x.dtype()) ? integer_power_of_floats(x, exponent) : pow(base, exponent);
    const Tensor& y = graph::tensor_of(exponent, "pow");
    if (is_integer(x.dtype()) && is_floating(y.dtype())) return integer_power_of_floats(x, y);
    if (is_floating(x.dtype()) || is_floating(y.dtype())) {
      if (x.dtype() == y.dtype()) return pow(base, exponent);
      const DType wide = x.dtype() == f64 || y.dtype() == f64 ? f64 : f32;
      return pow(x.to(wide), y.to(wide)).to(x.dtype());
    }
    return pow(x.to(i64), y.to(i64)).to(x.dtype());
  });
}

Tensor float_power(const TensorOperand& base, const TensorOperand& exponent) {
  auto wide = [](const TensorOperand& x) {
    if (x.is_number) return TensorOperand(x.number.as_double(), x.where);
    return TensorOperand(x.tensor.to(DType::f64, x.where), x.where);
  };
  return pow(wide(base), wide(exponent));
}

namespace {

// x 2^n by factors that dtypes of 32 or 64 bits hold. The steps towards 0 stop a significand short
// of the numbers without a full one, so that the last product alone is rounded.
Formula scaled_by_power(const Formula& x, const Formula& exponent) {
  const bool is_double = x.dtype() == DType::f64;
  const double up = is_double ? 1023 : 127, down = is_double ? 1022 - 53 : 126 - 24;
  Formula result = x, left = exponent;
  for (int step = 0; step < 2; ++step) {
    Formula is_above = left > up, is_below = left < -down;
    result = choice(is_above, result * std::exp2(up), result);
    result = choice(is_below, result * std::exp2(-down), result);
    left = choice(is_above, left - up, choice(is_below, left + down, left));
  }
  Formula bounded = choice(left > up, up, choice(left < -down, -down, left));
  return result * exp2(bounded);
}

}  // namespace

Tensor ldexp(const TensorOperand& x, const TensorOperand& exponent) {
  return graph::computed("ldexp", graph::floating("ldexp", {&x, &exponent}),
                         [](const Terms& t) { return scaled_by_power(t[0], t[1]); });
}

}  // namespace tilewright
