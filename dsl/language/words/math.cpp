#include "dsl/language/words/math.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "dsl/language/operands.h"
#include "dsl/language/words/floating.h"
#include "dsl/math/angles.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::choice;
using words::Floating;
using words::is_negative;
using words::polynomial;
using words::Term;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double none = std::numeric_limits<double>::quiet_NaN();

// Near 0 by 2 t / (1 - t) with t = tanh(x / 2), where exp(x) - 1 would cancel.
Term expm1_of_double(const Term& x) {
  constexpr double near = 0.5;
  const Term t = tanh(x * 0.5);
  return choice(abs(x) < near, (t + t) / (Term(1.0) - t), exp(x) - 1.0);
}

// With x = k ln 2 + r, |r| at most half of ln 2, exp(x) - 1 = 2^k (exp(r) - 1) + 2^k - 1, made of
// halves since 2^k may be infinite where the result is not. exp(r) - 1 = r + r^2 p(r), with p by
// Chebyshev within 1.4e-9.
Term expm1_of_float(const Term& x) {
  constexpr double near = 0.34375, most = 89, least = -25;  // beyond are infinity and -1
  const Term below = choice(x > most, most, x);
  const Term bounded = choice(below < least, least, below);
  const Term k = round(bounded * std::numbers::log2e);
  // ln 2 in two parts, the first exact times any k.
  const Term reduced = bounded + k * -0.693359375 + k * 2.12194440e-4;
  const Term is_near = abs(x) < near, r = choice(is_near, x, reduced);
  const Term p = polynomial(r, {0.5, 0.166666666816, 0.0416664647114, 0.00833331090173,
                                0.00139336737329, 0.000198910171843});
  const Term small = r + r * r * p, half = exp2(k - 1.0);
  const Term far = half * small + (half - 0.5);
  return choice(x == 0, x, choice(is_near, small, far + far));
}

Tile without_nan(const Operand& a, const Operand& b,
                 Tile (*bound)(const Operand&, const Operand&)) {
  Tile both = bound(a, b);
  if (!is_floating(both.dtype())) return both;
  OperationUse site("maximum", a.where);
  std::vector<Tile> tiles = site.unify(std::vector<Operand>{a, b});
  const Term x(tiles[0], a.where), y(tiles[1], a.where);
  return choice(x != x, y, choice(y != y, x, Term(both, a.where))).tile();
}

}  // namespace

std::vector<Tile> detail::of_one_shape(std::string_view word,
                                       const std::vector<Operand>& operands) {
  OperationUse site(word, operands.front().where);
  std::vector<Tile> tiles;
  for (const Operand& operand : operands) tiles.push_back(site.tile(operand));
  return site.broadcast_together(std::move(tiles));
}

Tile cdiv(const Operand& a, const Operand& b) {
  OperationUse site("cdiv", a.where);
  std::vector<Tile> both = site.unify(std::vector<Operand>{a, b});
  const DType dtype = both[0].dtype();
  site.expect(is_integer(dtype), "the operands are ", dtype,
              "; they must be integers: for floating numbers write ceil(a / b)");
  const Term x(both[0], a.where), y(both[1], a.where);
  const Term quotient = x / y, rest = x % y;
  Term up = rest != 0;
  if (is_signed(dtype)) up = up & ((rest > 0) == (y > 0));
  return (quotient + as_type(up, dtype)).tile();
}

Tile maximum(const Operand& a, const Operand& b, PropagateNan propagate) {
  return propagate == PropagateNan::all ? maximum(a, b) : without_nan(a, b, &maximum);
}

Tile minimum(const Operand& a, const Operand& b, PropagateNan propagate) {
  return propagate == PropagateNan::all ? minimum(a, b) : without_nan(a, b, &minimum);
}

Tile clamp(const Operand& x, const Operand& low, const Operand& high, PropagateNan propagate) {
  Tile above = maximum(x, low, propagate);
  return minimum(Operand(above, x.where), high);
}

Tile fdiv(const Operand& x, const Operand& y) {
  OperationUse site("fdiv", x.where);
  std::vector<Tile> both = site.unify(std::vector<Operand>{x, y});
  site.expect(is_floating(both[0].dtype()), "the operands are ", both[0].dtype(),
              "; they must be floating: cast them, or write / for a whole quotient");
  return site.append(ir::Op::div_, both);
}

Tile div_rn(const Operand& x, const Operand& y) { return fdiv(x, y); }
Tile sqrt_rn(const Operand& x) { return sqrt(x); }

Tile tan(const Operand& x) {
  Floating f("tan", x);
  return f.result(sin(f.x) / cos(f.x));
}

Tile atan(const Operand& x) {
  Floating f("atan", x);
  return f.result(formulas::atan(f.x));
}

// log(s + c) is log(s) + c / s, where s is 1 + x as it was rounded and c what it lost of x. For
// infinity, and for all numbers so large that 1 is lost, nothing is lost.
Tile log1p(const Operand& x) {
  Floating f("log1p", x);
  const Term sum = f.x + 1.0, left = sum - 1.0;
  const Term lost = choice(left == f.x, 0, (f.x - left) / sum);
  const Term without = log(sum);
  return f.result(choice(left == 0, f.x, choice(sum == infinity, sum, without + lost)));
}

Tile expm1(const Operand& x) {
  Floating f("expm1", x);
  return f.result(f.x.dtype() == DType::f64 ? expm1_of_double(f.x) : expm1_of_float(f.x));
}

Tile pow(const Operand& x, const Operand& y) {
  OperationUse site("pow", x.where);
  std::vector<Tile> both = site.unify(std::vector<Operand>{x, y});
  const Floating base("pow", Operand(both[0], x.where)), by("pow", Operand(both[1], x.where));
  const Term magnitude = abs(base.x), exponent = by.x;
  const Term product = as_type(exponent, DType::f64) * log2(as_type(magnitude, DType::f64));
  Term power = as_type(exp2(product), base.x.dtype());
  power = choice((magnitude == 1) & (exponent == exponent), 1, power);
  const Term is_whole = floor(exponent) == exponent, half = exponent * 0.5;
  const Term is_odd = is_whole & (floor(half) != half);
  power = choice(is_odd & is_negative(base.x), -power, power);
  power = choice((base.x < 0) & (magnitude < infinity) & ~is_whole, none, power);
  power = choice((base.x == 1) | (exponent == 0), 1, power);
  return base.result(power);
}

Tile softmax(const Operand& x, int axis) {
  Floating f("softmax", x);
  const std::source_location where = x.where;
  const Term most(max(f.x.operand(), axis, true), where);
  const Term power = exp(f.x - most);
  return f.result(power / Term(sum(power.operand(), axis, true), where));
}

}  // namespace tilewright::dsl
