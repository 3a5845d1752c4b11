#include <limits>

#include "dsl/math/functions.h"

namespace tilewright::dsl::math {
namespace {

// x = 2^exponent (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); `tail` is log(1 + f) - f.
struct ReducedLogarithm {
  Expression exponent, f, tail;
};

ReducedLogarithm reduce_to_mantissa(const Expression& x) {
  // A subnormal is brought into the normal range first; its exponent counts from there.
  Expression subnormal = x < 0x1p-126;
  Expression normal = choose(subnormal, x * 0x1p23, x);
  Expression bits = bitcast(normal, DType::i32);
  // Shifts the binade so that it begins at sqrt(1/2).
  Expression shifted = bits + integer_like(bits, 0x3f800000 - 0x3f3504f3);
  Expression raw = cast((shifted >> 23) - integer_like(bits, 127), DType::f32);
  Expression exponent = choose(subnormal, raw - 23.0, raw);
  Expression mantissa = (shifted & 0x7fffff) + integer_like(bits, 0x3f3504f3);
  Expression f = bitcast(mantissa, DType::f32) - 1.0;
  // Coefficients as in Cephes' logf.
  Expression p = polynomial(
      f, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1,
          -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2});
  return {exponent, f, f * f * fma(p, f, -0.5)};
}

// The logarithm where the formula does not hold: at 0, below, at infinity and NaN.
Expression with_special_cases(const Expression& x, const Expression& result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expression top = choose(x < infinity, result, x);
  Expression zero = apply(ir::Op::eq_, x, 0.0);
  Expression low = choose(x < 0.0, std::numeric_limits<double>::quiet_NaN(), top);
  return choose(zero, -infinity, low);
}

}  // namespace

Expression log(const Expression& x) {
  ReducedLogarithm r = reduce_to_mantissa(x);
  // ln2 in two parts, the first exact times any exponent.
  Expression low = fma(r.exponent, -2.12194440e-4, r.tail);
  return with_special_cases(x, fma(r.exponent, 0.693359375, r.f + low));
}

Expression log2(const Expression& x) {
  ReducedLogarithm r = reduce_to_mantissa(x);
  // log2(e) is 1 + 0.4427: the part above 1 is multiplied, the 1 is added without rounding.
  constexpr double excess = 0.44269504088896341;
  Expression low = fma(r.f, excess, fma(r.tail, excess, r.tail));
  return with_special_cases(x, r.exponent + (r.f + low));
}

Expression rsqrt(const Expression& x, const Form& form) {
  if (form.power == PowerBy::exp2) return apply(ir::Op::rsqrt_, x);
  return 1.0 / apply(ir::Op::sqrt_, x);
}

}  // namespace tilewright::dsl::math
