// The error integral, that of the normal density, and the gamma function, element by element, which
// Triton reaches in libdevice by name. Operands are as in elementary.h.
//
// Results in f32 are within 8 units in the last place, in f64 within 32 (erfc, erfinv) or to a
// relative error of 1e-13 (erfcx, the inverses), 3e-13 (normcdf) and 1e-12 (tgamma); lgamma to
// 1e-13 of the greatest term that it is a sum of. All but erfc and erfinv compute in f64 whatever
// the operand is, at half the speed of f32 or less, and much less on most GPUs that are not for
// data centres; so their f32 is within 1 unit. For the thread that traces.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// 1 - erf(x), with all digits where that is small; of f32 on GPUs 0 where exp is, below 2^-126.
Tile erfc(const Operand& x);
Tile erfcx(const Operand& x);  // exp(x^2) erfc(x)
// The number whose erf, or erfc, is x: infinite at the ends of their ranges, NaN beyond.
Tile erfinv(const Operand& x);
Tile erfcinv(const Operand& x);
// The integral of the normal density up to x, and up to where it is p.
Tile normcdf(const Operand& x);
Tile normcdfinv(const Operand& p);
// The logarithm of |gamma(x)|, infinite at 0, -1, -2, .., where gamma(x) is NaN, but at 0 infinite.
Tile lgamma(const Operand& x);
Tile tgamma(const Operand& x);

}  // namespace tilewright::dsl
