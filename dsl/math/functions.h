// The project's own definitions of the elementary functions on f32, as formulas over tile IR: one
// definition for every target, checked through the interpreter against libm.
//
// Each is within 2 units in the last place over all of f32 (tests/dsl/expand_math_test.cpp measures
// it), subnormal arguments and results included, and right at zeros, infinities and NaN.
#pragma once

#include "dsl/math/expression.h"

namespace tilewright::dsl::math {

// The power function for which a machine has an instruction, over which the others are built.
enum class PowerBy : std::uint8_t {
  arithmetic,  // none
  ldexp,       // x 2^n, and one that looks up one of sixteen numbers (AVX-512)
  exp2,        // 2^x within 2 units in the last place, and 1/sqrt(x) within 3 (GPUs)
};

// How a function is computed. A function ignores properties for which it has one form only.
struct Form {
  PowerBy power = PowerBy::arithmetic;  // with exp2 within 3 units
  // The result is rounded to 16 bits after at most multiplications and additions of such results: a
  // relative error of 2^-17 is enough, a 32nd of the rounding of f16 and a 256th of bf16's. (Not
  // with PowerBy::exp2.)
  bool for_half = false;
  bool below_zero = false;  // x is known not to be above zero
};

Expression exp(const Expression& x, const Form& form = {});
Expression exp2(const Expression& x, const Form& form = {});
Expression sigmoid(const Expression& x, const Form& form = {});
Expression tanh(const Expression& x, const Form& form = {});
Expression rsqrt(const Expression& x, const Form& form = {});
Expression log(const Expression& x);
Expression log2(const Expression& x);
Expression sin(const Expression& x);
Expression cos(const Expression& x);
Expression erf(const Expression& x);

}  // namespace tilewright::dsl::math
