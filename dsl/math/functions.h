// The project's own definitions of the elementary functions on f32, as formulas over tile IR: one
// definition for every target, checked through the interpreter against libm.
//
// Each is within 2 units in the last place over all of f32 (tests/dsl/expand_math_test.cpp measures
// it), subnormal arguments and results included, and right at zeros, infinities and NaN.
#pragma once

#include "dsl/math/expression.h"

namespace tilewright::dsl::math {

Expression exp(const Expression& x);
Expression exp2(const Expression& x);
Expression log(const Expression& x);
Expression log2(const Expression& x);
Expression sin(const Expression& x);
Expression cos(const Expression& x);
Expression tanh(const Expression& x);
Expression erf(const Expression& x);
Expression sigmoid(const Expression& x);
Expression rsqrt(const Expression& x);

// For results that are rounded to 16 bits, having been multiplied or added to their like at most:
// with an error of at most a part in 2^17, a 32nd of the rounding of f16 and a 256th of bf16's.
Expression exp_for_half(const Expression& x);
Expression sigmoid_for_half(const Expression& x);

// exp where x is known not to be above zero.
Expression exp_below_one(const Expression& x);
Expression exp_below_one_for_half(const Expression& x);

// For machines that have an instruction for ldexp, and one that looks up one of sixteen numbers:
// within the same bounds.
Expression exp_by_ldexp(const Expression& x);
Expression exp2_by_ldexp(const Expression& x);
Expression sigmoid_by_ldexp(const Expression& x);
Expression exp_for_half_by_ldexp(const Expression& x);
Expression sigmoid_for_half_by_ldexp(const Expression& x);
Expression exp_below_one_by_ldexp(const Expression& x);
Expression exp_below_one_for_half_by_ldexp(const Expression& x);
Expression tanh_by_ldexp(const Expression& x);

// For machines with instructions for 2^x and 1/sqrt(x) (a GPU's are within 2 and 3 units in the
// last place): formulas over them, within 3 units.
Expression exp_by_exp2(const Expression& x);
Expression sigmoid_by_exp2(const Expression& x);
Expression tanh_by_exp2(const Expression& x);

}  // namespace tilewright::dsl::math
