#include "dsl/math/functions.h"

namespace tilewright::dsl::math {
namespace {

// Adding this to a small number leaves its nearest integer in the low bits of the sum.
constexpr double round_magic = 0x1.8p23;
constexpr std::int64_t round_magic_bits = 0x4b400000;
constexpr std::int64_t one_bits = 0x3f800000;
constexpr double log2e_high = 0x1.715476p0, log2e_low = 0x1.4ae0bep-26;

// x not above `high` and not below `low`; NaN stays. (min and max would do the same, at the price
// of an extra test for NaN on machines whose own instructions lose it.)
Expression clamp(const Expression& x, double low, double high) {
  Expression below = choose(x > high, high, x);
  return choose(below < low, low, below);
}

// 2^x as 2^n 2^r: n, an integer, and 2^r.
struct Reduced {
  Expression n, power;
};

// 2^r for |r| <= 1/2, and 1 for 0: a fit of least greatest relative error, 3.1e-9, found by
// repeatedly reweighting squares, coefficient after coefficient rounded to f32.
Expression power_of_remainder(const Expression& r) {
  return polynomial(
      r, {1, 0.693147182, 0.240226477, 5.55035956e-2, 9.61850304e-3, 1.3390996e-3, 1.53277826e-4});
}

// The same within 2.9e-6, by two chains that run side by side.
Expression coarse_power_of_remainder(const Expression& r) {
  Expression square = r * r;
  Expression high = fma(square, 9.58274771e-3, fma(r, 5.59071638e-2, 0.240241051));
  return fma(high, square, fma(r, 0.693124115, 1.0));
}

// `shifted` is x + round_magic.
Expression integer_of(const Expression& shifted) {
  Expression bits = bitcast(shifted, DType::i32);
  return bits - integer_like(bits, round_magic_bits);
}

// Range reduction of e^x = 2^(x log2(e)). The product is never rounded, since its integer part is
// subtracted by the same fma. `coarsely`: for |x| <= 104 only, and within 5e-6, less than 2^-17.
Reduced reduce(const Expression& x, bool coarsely = false) {
  Expression shifted = fma(x, log2e_high, round_magic);
  Expression whole = shifted - round_magic;
  Expression r = fma(x, log2e_high, apply(ir::Op::neg_, whole));
  return {integer_of(shifted),
          coarsely ? coarse_power_of_remainder(r) : power_of_remainder(fma(x, log2e_low, r))};
}

Reduced reduce_base_two(const Expression& x) {
  Expression shifted = x + round_magic;
  Expression whole = shifted - round_magic;
  return {integer_of(shifted), power_of_remainder(x - whole)};
}

// 2^(k/16) for 0 <= k < 16, rounded to the nearest: found by trying coefficients for these numbers
// alone. A processor that can looks it up (dsl/codegen/host/emit_lookup.cpp), by one instruction.
Expression power_of_sixteenths(const Expression& k) {
  return polynomial(cast(k, DType::f32), {1, 0.693147063 / 16, 0.24022913 / (1 << 8),
                                          5.54864779e-2 / (1 << 12), 9.67137702e-3 / (1 << 16),
                                          1.25212339e-3 / (1 << 20), 2.13842257e-4 / (1 << 24)});
}

// 2^r - 1 for |r| <= 1/32, found as power_of_remainder is; coarsely within 4.3e-7.
Expression power_of_small_remainder(const Expression& r, bool coarsely) {
  return coarsely ? r * fma(r, 0.240227789, 0.693187773)
                  : r * fma(fma(r, 5.550237e-2, 0.240234286), r, 0.693147182);
}

// 2^x by sixteenths, for which a shorter polynomial does: x = whole + r. For an instruction that
// takes the whole part of an exponent.
struct ReducedToSixteenths {
  Expression whole, power;
};
constexpr double sixteenth_magic = round_magic / 16;

ReducedToSixteenths by_sixteenths(const Expression& shifted, const Expression& whole,
                                  const Expression& r, bool coarsely = false) {
  Expression sixteenths = power_of_sixteenths(bitcast(shifted, DType::i32) & 15);
  return {whole, fma(sixteenths, power_of_small_remainder(r, coarsely), sixteenths)};
}

// Range reduction of e^x, as reduce().
ReducedToSixteenths reduce_to_sixteenths(const Expression& x, bool coarsely = false) {
  Expression shifted = fma(x, log2e_high, sixteenth_magic);
  Expression whole = shifted - sixteenth_magic;
  Expression r = fma(x, log2e_high, apply(ir::Op::neg_, whole));
  return by_sixteenths(shifted, whole, coarsely ? r : fma(x, log2e_low, r), coarsely);
}

ReducedToSixteenths reduce_base_two_to_sixteenths(const Expression& x) {
  Expression shifted = x + sixteenth_magic;
  Expression whole = shifted - sixteenth_magic;
  return by_sixteenths(shifted, whole, x - whole);
}

// 2^n for an integer whose power is a normal number.
Expression power_of_two(const Expression& n) {
  return bitcast((n << 23) + integer_like(n, one_bits), DType::f32);
}

// power 2^n with one rounding, also where the result is subnormal or 2^n alone would overflow. The
// products carry a NaN of `power`; adding to its exponent bits would not.
Expression scaled(const Reduced& reduced) {
  Expression half = reduced.n >> 1;
  return reduced.power * power_of_two(half) * power_of_two(reduced.n - half);
}

// The same where n itself is the exponent of a normal number.
Expression moderately_scaled(const Reduced& reduced) {
  return reduced.power * power_of_two(reduced.n);
}

// The same by an instruction.
Expression scaled(const ReducedToSixteenths& reduced) {
  return apply(ir::Op::ldexp_, reduced.power, reduced.whole);
}

// e^x by that instruction for x within bounds, without the roundings of sixteenths.
Expression scaled_exp(const Expression& x) {
  Expression whole = fma(x, log2e_high, round_magic) - round_magic;
  Expression r = fma(x, log2e_high, apply(ir::Op::neg_, whole));
  return apply(ir::Op::ldexp_, power_of_remainder(fma(x, log2e_low, r)), whole);
}

// `magnitude` (not negative) with the sign of x.
Expression with_sign_of(const Expression& magnitude, const Expression& x) {
  Expression sign = bitcast(x, DType::i32) & INT32_MIN;
  return bitcast(bitcast(magnitude, DType::i32) ^ sign, DType::f32);
}

Expression minus_magnitude(const Expression& x) {
  return apply(ir::Op::neg_, apply(ir::Op::abs_, x));
}

Expression reciprocal(const Expression& x) { return 1.0 / x; }

// The reciprocal of a positive number within 4 units in the last place, for machines with an
// instruction for 1/sqrt, where a division is a subroutine.
Expression reciprocal_by_rsqrt(const Expression& x) {
  Expression root = apply(ir::Op::rsqrt_, x);
  return root * root;
}

// Sigmoid from e = e^-|x|, which does not overflow. For negative x that is also the numerator, so
// that small results keep their digits. `inverse` gives the reciprocal, and may be wrong in some of
// its last places.
Expression sigmoid_of(const Expression& x, const Expression& e,
                      Expression (*inverse)(const Expression& x)) {
  Expression numerator = choose(x < 0.0, e, 1.0);
  Expression denominator = e + 1.0;
  Expression lost = apply(ir::Op::sub_, e, denominator - 1.0);  // by rounding the sum
  // A quotient by the reciprocal, and one step of correction for both roundings.
  Expression inverted = inverse(denominator);
  Expression quotient = numerator * inverted;
  Expression minus = apply(ir::Op::neg_, quotient);
  Expression left = fma(minus, lost, fma(minus, denominator, numerator));
  return fma(left, inverted, quotient);
}

// The same without the correction: two units in the last place more.
Expression coarse_sigmoid_of(const Expression& x, const Expression& e) {
  return choose(x < 0.0, e, 1.0) * reciprocal(e + 1.0);
}

// Tanh from e = e^(2 |x|), given `inverse`, the reciprocal of e + 1.
Expression tanh_of(const Expression& x, const Expression& magnitude, const Expression& inverse) {
  Expression large = fma(inverse, -2.0, 1.0);
  // Near 0 the difference would lose digits: x + x^3 p(x^2), coefficients as in Cephes' tanhf.
  Expression z = x * x;
  Expression p = polynomial(z, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                                2.06390887954e-2, -5.70498872745e-3});
  Expression small = fma(p * z, magnitude, magnitude);
  return with_sign_of(choose(magnitude < 0.625, small, large), x);
}

// Twice the argument of tanh: beyond 10 the result is 1 in f32.
Expression bounded_twice(const Expression& magnitude) {
  return choose(magnitude > 10.0, 20.0, magnitude + magnitude);
}

// e^-104 rounds to zero, e^89 overflows.
Expression bounded_exponent(const Expression& x) { return clamp(x, -104, 89); }
Expression bounded_exponent_below(const Expression& x) { return choose(x < -104.0, -104.0, x); }

// e^x for x within bounds.
Expression bounded_exp(const Expression& x, const Form& form) {
  return form.power == PowerBy::ldexp ? scaled(reduce_to_sixteenths(x, form.for_half))
                                      : scaled(reduce(x, form.for_half));
}

// From 128 ln 2 on the power is infinite, and a negative `low` would make that a NaN. The bound is
// the least f32 of these, whose `low` is positive.
Expression exp_over_exp2(const Expression& x) {
  constexpr double least_infinite = 0x1.62e43p6;
  Expression bounded = apply(ir::Op::min_, apply(ir::Op::max_, x, -150.0), least_infinite);
  Expression high = bounded * log2e_high;
  Expression low = fma(bounded, log2e_low, fma(bounded, log2e_high, apply(ir::Op::neg_, high)));
  Expression power = apply(ir::Op::exp2_, high);
  return fma(power, low * 0.693147180559945, power);
}

Expression tanh_over_exp2(const Expression& x) {
  Expression magnitude = apply(ir::Op::abs_, x);
  Expression denominator = exp_over_exp2(bounded_twice(magnitude)) + 1.0;
  Expression inverse = reciprocal_by_rsqrt(denominator);
  Expression left = fma(apply(ir::Op::neg_, denominator), inverse, 1.0);
  return tanh_of(x, magnitude, fma(left, inverse, inverse));
}

}  // namespace

Expression exp(const Expression& x, const Form& form) {
  if (form.power == PowerBy::exp2) return exp_over_exp2(x);
  return bounded_exp(form.below_zero ? bounded_exponent_below(x) : bounded_exponent(x), form);
}

Expression exp2(const Expression& x, const Form& form) {
  if (form.power == PowerBy::exp2) return apply(ir::Op::exp2_, x);
  Expression bounded = clamp(x, -151, 129);
  return form.power == PowerBy::ldexp ? scaled(reduce_base_two_to_sixteenths(bounded))
                                      : scaled(reduce_base_two(bounded));
}

// The error of e counts up to twice where the quotient is of the binade below.
Expression sigmoid(const Expression& x, const Form& form) {
  Expression below = minus_magnitude(x);
  bool by_instruction = form.power == PowerBy::ldexp && !form.for_half;
  Expression e = by_instruction ? scaled_exp(bounded_exponent_below(below))
                                : exp(below, {form.power, form.for_half, /*below_zero=*/true});
  if (form.power == PowerBy::exp2) return sigmoid_of(x, e, reciprocal_by_rsqrt);
  return form.for_half ? coarse_sigmoid_of(x, e) : sigmoid_of(x, e, reciprocal);
}

Expression tanh(const Expression& x, const Form& form) {
  if (form.power == PowerBy::exp2) return tanh_over_exp2(x);
  Expression magnitude = apply(ir::Op::abs_, x);
  Expression twice = bounded_twice(magnitude);
  Expression e = form.power == PowerBy::ldexp ? scaled(reduce_to_sixteenths(twice))
                                              : moderately_scaled(reduce(twice));
  return tanh_of(x, magnitude, reciprocal(e + 1.0));
}

// An odd polynomial near 0 (coefficients by N. Juffa), else 1 - p(|x|)^4: the fourth root of erfc
// is so flat that degree 9 reaches 1e-9, and no exponential is needed. p is a weighted least
// squares fit on [0.92, 4]; beyond 4 the result is 1 in f32.
Expression erf(const Expression& x) {
  Expression magnitude = apply(ir::Op::abs_, x);
  Expression t = choose(magnitude > 4.0, 4.0, magnitude);
  Expression root = polynomial(
      t, {0.999814391, -0.28074497, -0.123694845, 0.0235259254, 0.00896233693, 0.00655773235,
          -0.00619462226, 0.00175860489, -0.000226505639, 1.14549293e-05});
  Expression square = root * root;
  Expression large = fma(apply(ir::Op::neg_, square), square, 1.0);
  Expression q = polynomial(x * x, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2,
                                    4.99119423e-3, -5.96761703e-4});
  return choose(magnitude > 0.927734375, with_sign_of(large, x), fma(q, x, x));
}

}  // namespace tilewright::dsl::math
