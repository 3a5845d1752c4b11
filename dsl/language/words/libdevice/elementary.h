// Angles, hyperbolic functions, roots and powers of ten, element by element, which Triton reaches
// in libdevice by name (extern_elementwise). Formulas over other words, the same on every device.
//
// Operands are floating, of 16 bits at the least, pairs of one type; C++ numbers take the type of
// the tile beside them. Those of 16 bits are computed in f32 and rounded once. Results in f32 and
// f64 are within 4 units in the last place of C's functions, and theirs at zeros, infinities and
// NaN, subnormal numbers included (tests/dsl/words/libdevice/elementary_test.cpp measures it).
// Raises `Error` with the line of the call for other operands. For the thread that traces.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

Tile asin(const Operand& x);
Tile acos(const Operand& x);
// The angle of the point (x, y) from the first axis, from -pi to pi.
Tile atan2(const Operand& y, const Operand& x);
// A function of pi x, without its rounding; sinpi of a whole number is 0 with the sign of x.
Tile sinpi(const Operand& x);
Tile cospi(const Operand& x);

Tile sinh(const Operand& x);
Tile cosh(const Operand& x);
Tile asinh(const Operand& x);
Tile acosh(const Operand& x);
Tile atanh(const Operand& x);

Tile cbrt(const Operand& x);
Tile rcbrt(const Operand& x);  // 1 / cbrt(x)
// sqrt(x^2 + y^2), and 1 over it, without an overflow on the way; infinite, and 0, where either
// operand is infinite, even beside a NaN.
Tile hypot(const Operand& x, const Operand& y);
Tile rhypot(const Operand& x, const Operand& y);

Tile exp10(const Operand& x);
Tile log10(const Operand& x);

}  // namespace tilewright::dsl
