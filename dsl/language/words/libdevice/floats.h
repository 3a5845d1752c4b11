// The parts of floating numbers: signs, exponents, remainders, neighbours, and conversions that do
// not round to nearest. These are the words that Triton reaches in libdevice by name, and
// `fp_downcast_rounding`.
//
// Operands are floating, of 16 bits at the least; all results are exact, or rounded as they say.
// Raises `Error` with the line of the call for other operands. For the thread that traces.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// bool: of a NaN signbit is its bit of the sign.
Tile isnan(const Operand& x);
Tile isinf(const Operand& x);
Tile isfinite(const Operand& x);
Tile signbit(const Operand& x);
Tile copysign(const Operand& magnitude, const Operand& sign);
// The number behind x on its way to y; y where they are equal.
Tile nextafter(const Operand& x, const Operand& y);

// To whole numbers: towards zero, and to nearest with ties to even (as `round`); llrint to i64,
// saturated, 0 of NaN.
Tile trunc(const Operand& x);
Tile rint(const Operand& x);
Tile nearbyint(const Operand& x);
Tile llrint(const Operand& x);

// The exponent to base 2: as i32, the least one of 0 and NaN, the greatest of infinity; and as a
// number of x's type, -infinity of 0.
Tile ilogb(const Operand& x);
Tile logb(const Operand& x);
Tile scalbn(const Operand& x, const Operand& n);  // x 2^n rounded once, for an integer n

Tile fdim(const Operand& x, const Operand& y);  // x - y where that is positive, else 0
Tile fmod(const Operand& x, const Operand& y);  // the same as `%`
// The distance of x from the nearest multiple of y, the even one of two; NaN where y is 0 or x
// infinite.
Tile remainder(const Operand& x, const Operand& y);
Tile saturate(const Operand& x);  // within 0 and 1; 0 of NaN

// `cast` with another rounding: to a float of 16 bits or more and no more than x's, or to integers,
// which saturate. (libdevice's float2int_rd(x) is cast(x, i32, Rounding::down).)
enum class Rounding : std::uint8_t { nearest, toward_zero, down, up };
Tile cast(const Operand& x, DType dtype, Rounding rounding);

}  // namespace tilewright::dsl
