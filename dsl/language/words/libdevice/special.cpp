#include "dsl/language/words/libdevice/special.h"

#include "dsl/language/words/floating.h"
#include "dsl/math/error_integral.h"
#include "dsl/math/log_gamma.h"

namespace tilewright::dsl {
namespace {

using words::choice;
using words::Floating;
using words::function_of;
using words::infinity;
using words::is_negative;
using words::negated_where;
using words::none;
using words::Term;

Tile in_double(std::string_view word, const Operand& x, Term (*formula)(const Term&)) {
  Floating f(word, x);
  const Term wide = f.x.to(DType::f64);
  return f.result(choice(wide != wide, wide, formula(wide)));
}

// Around 1, where both are near 0, by erfinv of what x lacks of 1, which is exact; beyond by the
// normal quantile of half of x, or of what x lacks of 2.
Term inverse_complement(const Term& x) {
  const Term rest = 1 - x, is_near = abs(rest) < 0.5, low = choice(rest < 0, 2 - x, x);
  const Term inside = choice((low > 0) & !is_near, low, 0.25);
  const Term quantile = formulas::lower_quantile(inside * 0.5, log(inside) - std::numbers::ln2);
  const Term far = choice(low == 0, infinity, quantile * -formulas::root_half);
  const Term near = formulas::erfinv(choice(is_near, rest, 0));
  const Term value = choice(is_near, near, negated_where(rest < 0, far));
  return choice((x < 0) | (x > 2), none, value);
}

Term gamma(const Term& x) {
  const Term below = floor(x), half = below * 0.5;
  const Term is_odd = (x < 0) & (floor(half) != half), is_pole = (below == x) & (x < 0);
  const Term magnitude = choice(x == 0, infinity, exp(formulas::log_gamma(x)));
  return choice(is_pole, none, negated_where(is_odd | ((x == 0) & is_negative(x)), magnitude));
}

}  // namespace

Tile erfc(const Operand& x) { return function_of("erfc", x, formulas::complement<Term>); }
Tile erfinv(const Operand& x) { return function_of("erfinv", x, formulas::erfinv<Term>); }
Tile erfcx(const Operand& x) { return in_double("erfcx", x, formulas::scaled_complement<Term>); }
Tile erfcinv(const Operand& x) { return in_double("erfcinv", x, inverse_complement); }
Tile normcdf(const Operand& x) {
  return in_double("normcdf", x, [](const Term& t) {
    return formulas::complement(-t * formulas::root_half) * 0.5;
  });
}
Tile normcdfinv(const Operand& p) {
  return in_double("normcdfinv", p, formulas::normal_quantile<Term>);
}
Tile lgamma(const Operand& x) { return in_double("lgamma", x, formulas::log_gamma<Term>); }
Tile tgamma(const Operand& x) { return in_double("tgamma", x, gamma); }

}  // namespace tilewright::dsl
