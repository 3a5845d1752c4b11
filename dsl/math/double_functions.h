// The elementary functions on f64. (A host takes sin and cos from its C library.)
//
// Apart from functions.h since nothing but the names is shared: at 53 bits other polynomials, other
// splits of ln2 and pi and another width of bits are at work. Each is within 2 units in the last
// place over all of f64 (tests/dsl/expand_math_of_double_test.cpp measures it), subnormal arguments
// and results included, and right at zeros, infinities and NaN. Among the functions of f32 that are
// arithmetic alone, rsqrt serves both.
#pragma once

#include "dsl/math/expression.h"

namespace tilewright::dsl::math::wide {

Expression exp(const Expression& x);
Expression exp2(const Expression& x);
Expression log(const Expression& x);
Expression log2(const Expression& x);
Expression sin(const Expression& x);
Expression cos(const Expression& x);
Expression tanh(const Expression& x);
Expression erf(const Expression& x);
Expression sigmoid(const Expression& x);

}  // namespace tilewright::dsl::math::wide
