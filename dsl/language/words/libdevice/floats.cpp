#include "dsl/language/words/libdevice/floats.h"

#include <cmath>
#include <limits>

#include "dsl/language/words/floating.h"
#include "dsl/language/words/math.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::bits_as;
using words::bits_of;
using words::choice;
using words::Floating;
using words::FloatingPair;
using words::infinity;
using words::is_negative;
using words::negated_where;
using words::Term;

// The operand in its own type: words that look at bits do not widen it.
Term floating(std::string_view word, const Operand& x) {
  OperationUse site(word, x.where);
  Tile tile = site.tile(x, DType::f32);
  Floating::of_tile(site, tile);
  return {tile, x.where};
}

// Two of one type and shape, in that type.
std::pair<Term, Term> floating_pair(std::string_view word, const Operand& a, const Operand& b) {
  OperationUse site(word, a.where);
  std::vector<Tile> both = site.unify(std::vector<Operand>{a, b});
  Floating::of_tile(site, both[0]);
  return {Term(both[0], a.where), Term(both[1], a.where)};
}

// x with its bits, read as an integer, so much greater.
Term bits_away(const Term& x, const Term& by) { return bits_as(bits_of(x) + by, x.dtype()); }

// The exponent of a finite number but 0, whose subnormal ones are made normal first; as an integer
// of its bits.
Term exponent(const Term& x) {
  const DType dtype = x.dtype();
  const int fraction = digits(dtype) - 1, bias = exponent_bias(dtype);
  const double least = std::ldexp(1.0, 1 - bias), factor = std::ldexp(1.0, fraction + 1);
  const Term a = abs(x), is_small = a < least, normal = choice(is_small, a * factor, a);
  const Term found = (bits_of(normal) >> fraction) - bias;
  return choice(is_small, found - (fraction + 1), found);
}

}  // namespace

Tile isnan(const Operand& x) {
  const Term t = floating("isnan", x);
  return (t != t).tile();
}
Tile isinf(const Operand& x) { return (abs(floating("isinf", x)) == infinity).tile(); }
Tile isfinite(const Operand& x) { return (abs(floating("isfinite", x)) < infinity).tile(); }
Tile signbit(const Operand& x) { return is_negative(floating("signbit", x)).tile(); }

Tile copysign(const Operand& magnitude, const Operand& sign) {
  const auto [x, y] = floating_pair("copysign", magnitude, sign);
  return negated_where(is_negative(x) != is_negative(y), x).tile();
}

// Numbers of one sign are ordered as their bits are.
Tile nextafter(const Operand& x, const Operand& y) {
  const auto [from, to] = floating_pair("nextafter", x, y);
  const Term zero = bits_of(from).number(0), one = bits_of(from).number(1);
  const Term grows = (from < to) == (from > 0);
  const Term least = negated_where(to < 0, bits_as(one, from.dtype()));
  const Term moved = choice(from == 0, least, bits_away(from, choice(grows, one, zero - one)));
  // A NaN in either is that of their sum.
  const Term is_nan = (from != from) | (to != to);
  return choice(is_nan, from + to, choice(from == to, to, moved)).tile();
}

Tile trunc(const Operand& x) {
  const Term t = floating("trunc", x);
  return choice(t < 0, ceil(t), floor(t)).tile();
}
Tile rint(const Operand& x) { return round(floating("rint", x)).tile(); }
Tile nearbyint(const Operand& x) { return round(floating("nearbyint", x)).tile(); }
Tile llrint(const Operand& x) { return as_type(round(floating("llrint", x)), DType::i64).tile(); }

Tile ilogb(const Operand& x) {
  Floating f("ilogb", x);
  const Term found = as_type(exponent(f.x), DType::i32);
  constexpr std::int64_t least = INT32_MIN, most = INT32_MAX;
  const Term finite = choice((f.x == 0) | (f.x != f.x), found.number(least), found);
  return choice(abs(f.x) == infinity, found.number(most), finite).tile();
}

Tile logb(const Operand& x) {
  Floating f("logb", x);
  const Term found = as_type(exponent(f.x), f.x.dtype()), a = abs(f.x);
  return f.result(choice(a == 0, -infinity, choice(a < infinity, found, a)));
}

// No number is that far from 1 that it matters how far beyond 2^5000 it is multiplied.
Tile scalbn(const Operand& x, const Operand& n) {
  OperationUse site("scalbn", x.where);
  Floating f("scalbn", x);
  Tile by = site.tile(n, DType::i32);
  site.expect(by.type().is_value() && is_integer(by.dtype()), "the exponent is ", by.type(),
              "; it must be an integer");
  Tile wide = cast(Operand(by, x.where), DType::f64);
  Term bounded = lesser(greater(Term(wide, x.where), -5000.0), 5000.0);
  Tile power = as_type(bounded, f.x.dtype()).tile();
  return f.result({ldexp(f.x.operand(), Operand(power, x.where)), x.where});
}

Tile fdim(const Operand& x, const Operand& y) {
  FloatingPair both("fdim", x, y);
  return both.result(choice(both.a.x <= both.b.x, 0, both.a.x - both.b.x));
}

Tile fmod(const Operand& x, const Operand& y) {
  FloatingPair both("fmod", x, y);
  return both.result(both.a.x % both.b.x);
}

// The remainder by twice y is less than two of y, of which none, one or two are subtracted.
Tile remainder(const Operand& x, const Operand& y) {
  FloatingPair both("remainder", x, y);
  const Term a = abs(both.a.x), b = abs(both.b.x), rest = a % (b + b);
  const Term once = rest - b, twice = once - b;
  const Term left = choice(rest + rest > b, choice(once + once >= b, twice, once), rest);
  return both.result(negated_where(is_negative(both.a.x), left));
}

Tile saturate(const Operand& x) {
  const Term t = floating("saturate", x);
  return clamp(t.operand(), Operand(0.0, x.where), Operand(1.0, x.where), PropagateNan::none);
}

Tile cast(const Operand& x, DType dtype, Rounding rounding) {
  const Term t = floating("cast", x);
  if (rounding == Rounding::nearest) {
    const bool is_whole = !is_floating(dtype) && !is_boolean(dtype);
    return as_type(is_whole ? round(t) : t, dtype).tile();
  }
  OperationUse site("cast", x.where);
  site.expect(
      is_integer(dtype) || (is_floating(dtype) && !is_float8(dtype)), "to ", dtype,
      " numbers are not rounded but to nearest; the type must be an integer or a float of 16 "
      "bits at the least");
  if (is_integer(dtype)) {
    const Term whole = rounding == Rounding::down ? floor(t)
                       : rounding == Rounding::up ? ceil(t)
                                                  : choice(t < 0, ceil(t), floor(t));
    return as_type(whole, dtype).tile();
  }
  // Where what is nearest lies on the wrong side, its neighbour is right: of a number above 0 that
  // with lesser bits where it is too large, and of one below with greater bits.
  const Term nearest = as_type(t, dtype);
  const Term back = as_type(nearest, DType::f64), exact = as_type(t, DType::f64);
  const Term zero = bits_of(nearest).number(0), one = bits_of(nearest).number(1);
  const Term below_zero = is_negative(nearest);
  Term lowered = choice(below_zero, one, zero - one), raised = choice(below_zero, zero - one, one);
  const Term is_above = back > exact, is_below = back < exact;
  const Term lower = choice(is_above, lowered, zero), raise = choice(is_below, raised, zero);
  const Term by = rounding == Rounding::down ? lower
                  : rounding == Rounding::up ? raise
                                             : choice(below_zero, raise, lower);
  return bits_away(nearest, by).tile();
}

}  // namespace tilewright::dsl
