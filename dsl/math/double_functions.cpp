#include "dsl/math/double_functions.h"

#include <limits>
#include <vector>

namespace tilewright::dsl::math::wide {
namespace {

using ir::Op;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t one_bits = 0x3ff0000000000000;
// Adding this to a small number leaves its nearest integer in the low bits of the sum.
constexpr double round_magic = 0x1.8p52;
constexpr std::int64_t round_magic_bits = 0x4338000000000000;

Expression negative(const Expression& x) { return apply(Op::neg_, x); }
Expression magnitude_of(const Expression& x) { return apply(Op::abs_, x); }

Expression with_sign_of(const Expression& magnitude, const Expression& x) {
  Expression sign = bitcast(x, DType::i64) & INT64_MIN;
  return bitcast(bitcast(magnitude, DType::i64) ^ sign, DType::f64);
}

// NaN stays.
Expression clamp(const Expression& x, double low, double high) {
  Expression below = choose(x > high, high, x);
  return choose(below < low, low, below);
}

// e^(r + low) for |r| <= ln2 / 2 and a `low` below the last place of r: Taylor's series, whose next
// term is below 2^-57.
Expression power_of_remainder(const Expression& r, const Expression& low) {
  Expression curvature = polynomial(
      r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
          1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800});
  return r + fma(curvature, r * r, low) + 1.0;
}

// 2^n for an integer whose power is a normal number.
Expression power_of_two(const Expression& n) {
  return bitcast((n << 52) + integer_like(n, one_bits), DType::f64);
}

// power 2^n with one rounding, also where the result is subnormal or 2^n alone would overflow.
Expression scaled(const Expression& power, const Expression& n) {
  Expression half = n >> 1;
  return power * power_of_two(half) * power_of_two(n - half);
}

Expression integer_of(const Expression& shifted) {
  Expression bits = bitcast(shifted, DType::i64);
  return bits - integer_like(bits, round_magic_bits);
}

// Near 0, in terms of z = x^2, where the difference in 1 - 2 / (e^2x + 1) would lose digits. The
// quotient of polynomials is that of Cephes' tanh.
Expression small_tanh(const Expression& x) {
  Expression z = x * x;
  Expression p = polynomial(
      z, {-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1});
  Expression q = polynomial(
      z, {4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0});
  return fma(x * z, p * (1.0 / q), x);
}

// Two sets of coefficients, of which the condition chooses one.
struct EitherCoefficients {
  std::vector<double> where_true, where_false;
};
Expression either_polynomial(const Expression& x, const Expression& condition,
                             const EitherCoefficients& coefficients) {
  auto coefficient = [&](std::size_t i) {
    auto of = [&](const std::vector<double>& list) { return i < list.size() ? list[i] : 0.0; };
    return choose(condition, of(coefficients.where_true),
                  number(x.site(), DType::f64, of(coefficients.where_false)));
  };
  std::size_t i = coefficients.where_true.size() - 1;
  Expression sum = coefficient(i);
  while (i-- > 0) sum = fma(sum, x, coefficient(i));
  return sum;
}

// x = 2^exponent (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); `tail` is log(1 + f) - f +
// f^2/2.
struct ReducedLogarithm {
  Expression exponent, f, half_square, tail;
};

ReducedLogarithm reduce(const Expression& x) {
  // A subnormal is brought into the normal range first; its exponent counts from there.
  Expression subnormal = x < 0x1p-1022;
  Expression bits = bitcast(choose(subnormal, x * 0x1p54, x), DType::i64);
  constexpr std::int64_t root_half_bits = 0x3fe6a09e667f3bcd;
  Expression shifted = bits + integer_like(bits, one_bits - root_half_bits);
  Expression raw = cast((shifted >> 52) - integer_like(bits, 1023), DType::f64);
  Expression exponent = choose(subnormal, raw - 54.0, raw);
  Expression mantissa = (shifted & 0xfffffffffffff) + integer_like(bits, root_half_bits);
  Expression f = bitcast(mantissa, DType::f64) - 1.0;
  // In terms of s = f / (2 + f), coefficients as in FreeBSD's log.
  Expression s = apply(Op::div_, f, f + 2.0);
  Expression z = s * s;
  Expression r = z * polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01,
                                    2.857142874366239149e-01, 2.222219843214978396e-01,
                                    1.818357216161805012e-01, 1.531383769920937332e-01,
                                    1.479819860511658591e-01});
  Expression half_square = f * f * 0.5;
  return {exponent, f, half_square, s * (half_square + r)};
}

// The logarithm where the formula does not hold: at 0, below, at infinity and NaN.
Expression with_special_cases(const Expression& x, const Expression& result) {
  Expression top = choose(x < infinity, result, x);
  Expression low = choose(x < 0.0, std::numeric_limits<double>::quiet_NaN(), top);
  return choose(apply(Op::eq_, x, 0.0), -infinity, low);
}

}  // namespace

// Cody and Waite's reduction: ln2 in two parts, the first short enough that n times it is exact.
Expression exp(const Expression& x) {
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  // e^-746 rounds to zero, e^710 overflows.
  Expression bounded = clamp(x, -746, 710);
  Expression shifted = fma(bounded, 1.44269504088896341, round_magic);
  Expression whole = shifted - round_magic;
  Expression high = fma(whole, -ln2_high, bounded);
  Expression r = fma(whole, -ln2_low, high);
  Expression lost = fma(whole, -ln2_low, high - r);
  return scaled(power_of_remainder(r, lost), integer_of(shifted));
}

Expression exp2(const Expression& x) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1, ln2_rest = 0x1.abc9e3b39803fp-56;
  Expression bounded = clamp(x, -1076, 1025);
  Expression shifted = bounded + round_magic;
  Expression rest = bounded - (shifted - round_magic);
  Expression r = rest * ln2;
  Expression lost = fma(rest, ln2_rest, fma(rest, ln2, negative(r)));
  return scaled(power_of_remainder(r, lost), integer_of(shifted));
}

Expression log(const Expression& x) {
  ReducedLogarithm r = reduce(x);
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  Expression low = r.half_square - fma(r.exponent, ln2_low, r.tail);
  return with_special_cases(x, fma(r.exponent, ln2_high, r.f - low));
}

// The logarithm in two parts, times 1/ln2 in two parts (FreeBSD's log2).
Expression log2(const Expression& x) {
  ReducedLogarithm r = reduce(x);
  constexpr double high_factor = 1.44269504072144627571e+00,
                   low_factor = 1.67517131648865118353e-10;
  Expression rounded = bitcast(r.f - r.half_square, DType::i64) & -(std::int64_t{1} << 32);
  Expression high = bitcast(rounded, DType::f64);
  Expression low = r.f - high - r.half_square + r.tail;
  Expression product = high * high_factor;
  Expression product_low = fma(low + high, low_factor, low * high_factor);
  Expression sum = r.exponent + product;
  Expression sum_low = r.exponent - sum + product;
  return with_special_cases(x, sum + (sum_low + product_low));
}

Expression tanh(const Expression& x) {
  Expression magnitude = magnitude_of(x);
  // e^2x may be infinite.
  Expression large = fma(2.0 / (exp(magnitude + magnitude) + 1.0), -1.0, 1.0);
  return with_sign_of(choose(magnitude < 0.625, small_tanh(magnitude), large), x);
}

// Computed from e^-|x|, which does not overflow. For negative x that is also the numerator, so that
// small results keep their digits.
Expression sigmoid(const Expression& x) {
  Expression e = exp(negative(magnitude_of(x)));
  Expression numerator = choose(x < 0.0, e, 1.0);
  Expression denominator = e + 1.0;
  Expression lost = e - (denominator - 1.0);
  // One step of correction for the rounding of the sum and of the quotient.
  Expression quotient = apply(Op::div_, numerator, denominator);
  Expression minus = negative(quotient);
  Expression left = fma(minus, lost, fma(minus, denominator, numerator));
  return fma(left, 1.0 / denominator, quotient);
}

// FreeBSD's erf: near 0, around 1 and beyond by quotients of polynomials, the last in 1/x^2 and as
// the exponent of erfc.
Expression erf(const Expression& x) {
  Expression magnitude = magnitude_of(x);
  Expression z = x * x;
  Expression p = polynomial(
      z, {1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
          -5.77027029648944159157e-03, -2.37630166566501626084e-05});
  Expression q = polynomial(
      z, {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
          1.32494738004321644526e-04, -3.96022827877536812320e-06});
  Expression near_zero = fma(magnitude, apply(Op::div_, p, q), magnitude);

  Expression s = magnitude - 1.0;
  p = polynomial(
      s, {-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
          3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
          -2.16637559486879084300e-03});
  q = polynomial(
      s, {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
          1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02});
  Expression near_one = apply(Op::div_, p, q) + 8.45062911510467529297e-01;

  // Beyond 6 the result is 1 in f64.
  Expression bounded = choose(magnitude > 6.0, 6.0, magnitude);
  bounded = choose(bounded < 1.25, 1.25, bounded);
  Expression inverse = 1.0 / (bounded * bounded);
  Expression lower = bounded < 1 / 0.35;
  p = either_polynomial(
      inverse, lower,
      {{-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
        -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
        -8.12874355063065934246e+01, -9.81432934416914548592e+00},
       {-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
        -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
        -4.83519191608651397019e+02}});
  q = either_polynomial(
      inverse, lower,
      {{1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
        6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
        6.57024977031928170135e+00, -6.04244152148580987438e-02},
       {1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
        3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
        -2.24409524465858183362e+01}});
  Expression exponent = fma(negative(bounded), bounded, -0.5625) + apply(Op::div_, p, q);
  Expression far = fma(apply(Op::div_, exp(exponent), bounded), -1.0, 1.0);

  Expression result = choose(magnitude < 1.25, near_one, far);
  result = choose(magnitude < 0.84375, near_zero, result);
  // A NaN passes no comparison.
  return choose(apply(Op::eq_, x, x), with_sign_of(result, x), x);
}

}  // namespace tilewright::dsl::math::wide
