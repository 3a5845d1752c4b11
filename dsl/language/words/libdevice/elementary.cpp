#include "dsl/language/words/libdevice/elementary.h"

#include <limits>
#include <numbers>

#include "dsl/language/words/floating.h"
#include "dsl/language/words/math.h"
#include "dsl/math/angles.h"
#include "dsl/math/hyperbolic.h"

namespace tilewright::dsl {
namespace words {

// As dsl/math/hyperbolic.h asks for them.
static Term log1p(const Term& x) { return {dsl::log1p(x.operand()), x.where()}; }
static Term expm1(const Term& x) { return {dsl::expm1(x.operand()), x.where()}; }

}  // namespace words

namespace {

using words::choice;
using words::Floating;
using words::FloatingPair;
using words::function_of;
using words::infinity;
using words::is_negative;
using words::negated_where;
using words::none;
using words::polynomial;
using words::Term;

// A half turn of a number from 0 on: a = 2 k + n / 2 + rest, all of them exact.
struct HalfTurns {
  Term n, rest;  // n is -2, -1, 0, 1 or 2, the rest within 1/4
  explicit HalfTurns(const Term& a) : n(a), rest(a) {
    const Term turn = a - round(a * 0.5) * 2;
    n = round(turn * 2);
    rest = turn - n * 0.5;
  }
};

// Taylor's series, for |x| up to pi / 4: the omitted rest is below 2^-56 of the result.
Term sine_of_small(const Term& x) {
  const Term z = x * x;
  return x +
         x * (z * polynomial(z, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                                 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000}));
}
Term cosine_of_small(const Term& x) {
  const Term z = x * x;
  return z * polynomial(z, {-1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                            1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000}) +
         1;
}

Term sine_of_pi(const Term& x) {
  const Term a = abs(x);
  const HalfTurns turns(a);
  const Term angle = turns.rest * std::numbers::pi;
  const Term sine = sine_of_small(angle), cosine = cosine_of_small(angle);
  const Term is_across = abs(turns.n) == 1;
  const Term value =
      choice(is_across, negated_where(turns.n < 0, cosine), negated_where(turns.n != 0, sine));
  const Term whole = choice(a == infinity, none, choice(floor(a) == a, 0, value));
  return negated_where(is_negative(x), whole);
}

Term cosine_of_pi(const Term& x) {
  const Term a = abs(x);
  const HalfTurns turns(a);
  const Term angle = turns.rest * std::numbers::pi;
  const Term sine = sine_of_small(angle), cosine = cosine_of_small(angle);
  const Term is_across = abs(turns.n) == 1;
  const Term value =
      choice(is_across, negated_where(turns.n > 0, sine), negated_where(turns.n != 0, cosine));
  // Where the cosine is 0, that is 0 and not -0.
  const Term exact = choice(is_across & (turns.rest == 0), 0, value);
  return choice(a == infinity, none, exact);
}

// By logarithms, and one of Newton's steps, which only shrinks their error. Numbers so small that
// their quotient would have lost digits are made larger by a cube.
Term cube_root(const Term& x) {
  const bool is_double = x.dtype() == DType::f64;
  const double tiny = is_double ? 0x1p-900 : 0x1p-100, cube = is_double ? 0x1p300 : 0x1p48;
  const double root = is_double ? 0x1p-100 : 0x1p-16;
  const Term a = abs(x), is_tiny = a < tiny, grown = choice(is_tiny, a * cube, a);
  const Term first = exp2(log2(grown) * (1.0 / 3));
  const Term next = first - (first - grown / (first * first)) * (1.0 / 3);
  const Term magnitude = choice(is_tiny, next * root, next);
  return choice((a == 0) | (a == infinity), x, negated_where(x < 0, magnitude));
}

// With x = n log10(2) + rest, 10^x = 2^n exp(rest ln 10). The upper part of log10(2) is exact times
// any n.
Term power_of_ten(const Term& x) {
  const bool is_double = x.dtype() == DType::f64;
  const double most = is_double ? 400 : 60;  // beyond, and below its negative, are infinity and 0
  const double high = is_double ? 0x1.34413509f4p-2 : 0.301025390625;
  const double low = is_double ? 8.241712586023571726131e-13 : 4.60503898119521373889e-6;
  const Term above = choice(x > most, most, x), bounded = choice(above < -most, -most, above);
  const Term n = round(bounded * (std::numbers::ln10 / std::numbers::ln2));
  const Term rest = bounded - n * high - n * low, power = exp(rest * std::numbers::ln10);
  return {ldexp(power.operand(), n.operand()), x.where()};
}

// Powers of ten have whole logarithms, which f32 alone would miss.
Term decimal_logarithm(const Term& x) {
  constexpr double of_two = 0.30102999566398119521;
  return (log2(x.to(DType::f64)) * of_two).to(x.dtype());
}

}  // namespace

Tile asin(const Operand& x) { return function_of("asin", x, formulas::asin<Term>); }
Tile acos(const Operand& x) { return function_of("acos", x, formulas::acos<Term>); }
Tile sinh(const Operand& x) { return function_of("sinh", x, formulas::sinh<Term>); }
Tile cosh(const Operand& x) { return function_of("cosh", x, formulas::cosh<Term>); }
Tile asinh(const Operand& x) { return function_of("asinh", x, formulas::asinh<Term>); }
Tile acosh(const Operand& x) { return function_of("acosh", x, formulas::acosh<Term>); }
Tile atanh(const Operand& x) { return function_of("atanh", x, formulas::atanh<Term>); }
Tile sinpi(const Operand& x) { return function_of("sinpi", x, sine_of_pi); }
Tile cospi(const Operand& x) { return function_of("cospi", x, cosine_of_pi); }
Tile cbrt(const Operand& x) { return function_of("cbrt", x, cube_root); }
Tile exp10(const Operand& x) { return function_of("exp10", x, power_of_ten); }
Tile log10(const Operand& x) { return function_of("log10", x, decimal_logarithm); }

Tile rcbrt(const Operand& x) {
  return function_of("rcbrt", x, [](const Term& t) { return 1 / cube_root(t); });
}

Tile atan2(const Operand& y, const Operand& x) {
  FloatingPair point("atan2", y, x);
  return point.result(formulas::atan2(point.a.x, point.b.x));
}

Tile hypot(const Operand& x, const Operand& y) {
  FloatingPair sides("hypot", x, y);
  return sides.result(formulas::hypot(sides.a.x, sides.b.x));
}

// The length itself may be infinite where one over it is a number.
Tile rhypot(const Operand& x, const Operand& y) {
  FloatingPair sides("rhypot", x, y);
  const Term a = abs(sides.a.x), b = abs(sides.b.x);
  const Term most = greater(a, b), ratio = lesser(a, b) / most;
  const Term inverse = choice(most == 0, infinity, 1 / sqrt(ratio * ratio + 1) / most);
  return sides.result(choice((a == infinity) | (b == infinity), 0, inverse));
}

}  // namespace tilewright::dsl
