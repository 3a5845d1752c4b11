// Words that compute element by element.
#include "dsl/language/random.h"
#include "dsl/language/words/arranging.h"
#include "dsl/language/words/inline_asm.h"
#include "dsl/language/words/libdevice/libdevice.h"
#include "dsl/language/words/math.h"
#include "tests/property/word_table.h"

namespace tilewright::dsl {
namespace {

using enum Takes;
using enum Agrees;

// Which bits a NaN has nobody says.
Tile no_nan(const Tile& x) { return where(x == x, x, 1.5); }
Tile as_f32(const Tile& x) { return cast(x, f32); }
// Within 1, where most functions are defined.
Tile fraction(const Tile& x) { return clamp(no_nan(x), -1.0, 1.0); }
Tile offsets(const Tile& x) { return reshape(arange(0, element_count(x.shape())), x.shape()); }

#define WORD(names, takes, agrees, expression)                     \
  {                                                                \
    names, takes, agrees, [](WordDraw& d, const Tile& x) -> Tile { \
      (void)d;                                                     \
      return expression;                                           \
    }                                                              \
  }

const DrawnWord functions[] = {
    WORD("abs", anything, exactly, abs(x)),
    WORD("maximum minimum", integers, exactly, maximum(minimum(x, d.like(x)), 3)),
    WORD("PropagateNan", floats, exactly, maximum(x, d.like(x), PropagateNan::none)),
    WORD("add sub mul", integers, exactly, (x + d.like(x)) * (x - 7)),
    WORD("clamp", integers, exactly, clamp(x, 2, 90)),
    WORD("where", anything, exactly, where(x == d.like(x), x, d.like(x))),
    WORD("cast x.to", integers, exactly, cast(x, d.below(2) == 0 ? f32 : i64)),
    WORD("cast fp_downcast_rounding Rounding", floats, exactly,
         cast(cast(x, f16, d.below(2) == 0 ? Rounding::toward_zero : Rounding::down), f32)),
    WORD("bitcast", floats, exactly, bitcast(as_f32(no_nan(x)), i32)),
    WORD("cdiv", integers, exactly, cdiv(x, 1 + d.below(9))),
    WORD("umulhi", integers, exactly, umulhi(x, d.like(x))),
    WORD("popc clz ffs", integers, exactly, popc(x) * 4096 + clz(x) * 64 + ffs(x)),
    WORD("brev", integers, exactly, brev(x)),
    WORD("mulhi hadd", integers, exactly, mulhi(x, d.like(x)) ^ hadd(x, d.like(x))),
    WORD("rhadd sad", integers, exactly, sad(rhadd(x, d.like(x)), x, d.like(x))),
    WORD("mul24", integers, exactly, mul24(cast(x, i32), cast(d.like(x), i32))),
    WORD("byte_perm", integers, exactly,
         byte_perm(cast(x, u32), cast(d.like(x), u32), cast(d.like(x), u32))),
    WORD("ceil floor", floats, exactly, ceil(x) - floor(d.like(x))),
    WORD("round rint nearbyint", floats, exactly, round(x) + rint(x) * nearbyint(d.like(x))),
    WORD("trunc", floats, exactly, trunc(x)),
    WORD("llrint", floats, exactly, llrint(x)),
    WORD("copysign signbit", floats, exactly,
         where(signbit(no_nan(x)), copysign(no_nan(x), no_nan(d.like(x))), x)),
    WORD("isnan isinf isfinite isfinited", floats, exactly,
         cast(isnan(x), i32) + cast(isinf(x), i32) * 2 + cast(isfinite(x), i32) * 4),
    WORD("nextafter", floats, exactly, nextafter(x, d.like(x))),
    WORD("ilogb", floats, exactly, ilogb(x)),
    WORD("logb", floats, exactly, logb(x)),
    WORD("scalbn ldexp", floats, exactly, scalbn(x, d.below(9) - 4)),
    WORD("fdim", floats, exactly, fdim(x, d.like(x))),
    WORD("fmod", floats, exactly, fmod(x, d.like(x))),
    WORD("remainder", floats, exactly, remainder(x, d.like(x))),
    WORD("saturate", floats, exactly, saturate(x)),
    WORD("fma", floats, exactly, fma(x, d.like(x), 0.5)),
    WORD("fdiv div_rn", floats, exactly, fdiv(x, d.like(x)) + div_rn(d.like(x), 3.0)),
    WORD("sqrt sqrt_rn", floats, exactly, sqrt(abs(x)) + sqrt_rn(abs(d.like(x)))),
    WORD("map_elementwise", integers, exactly,
         map_elementwise([](Tile a, Tile b) { return a * 3 + b; }, x, d.like(x))),
    WORD("inline_asm_elementwise", integers, exactly,
         inline_asm_elementwise({"add.s32 $0, $1, $2;", "=r,r,r"},
                                {cast(x, i32), cast(d.like(x), i32)}, i32,
                                [](const Tiles& t) { return t[0] + t[1]; })),
    WORD("philox", integers, exactly, philox(7, x, 1, 2, 3)[2]),
    WORD("randint", integers, exactly, randint(x, offsets(x))),
    WORD("rand uint_to_uniform_float", integers, exactly,
         rand(3, x) + uint_to_uniform_float(cast(x, u32))),
    WORD("randn pair_uniform_to_normal", integers, nearly, randn(4, x)),

    WORD("exp exp2", floats, nearly, d.below(2) == 0 ? exp(x) : exp2(x)),
    WORD("log log2 log10", floats, nearly,
         d.below(2) == 0   ? log(abs(x))
         : d.below(2) == 0 ? log2(abs(x))
                           : log10(abs(x))),
    WORD("sin cos", floats, nearly, d.below(2) == 0 ? sin(x) : cos(x)),
    WORD("tan", floats, nearly, tan(fraction(x))),
    WORD("tanh", floats, nearly, tanh(x)),
    WORD("sigmoid", floats, nearly, sigmoid(x)),
    WORD("rsqrt", floats, nearly, rsqrt(abs(x))),
    WORD("log1p expm1", floats, nearly, d.below(2) == 0 ? log1p(abs(x)) : expm1(x)),
    WORD("pow", floats, nearly, pow(abs(x), fraction(d.like(x)))),
    WORD("asin", floats, nearly, asin(fraction(x))),
    WORD("acos", floats, nearly, acos(fraction(x))),
    WORD("atan atan2", floats, nearly, d.below(2) == 0 ? atan(x) : atan2(x, no_nan(d.like(x)))),
    WORD("sinpi", floats, nearly, sinpi(x)),
    WORD("cospi", floats, nearly, cospi(x)),
    WORD("sinh cosh", floats, nearly, d.below(2) == 0 ? sinh(x) : cosh(x)),
    WORD("asinh", floats, nearly, asinh(x)),
    WORD("acosh", floats, nearly, acosh(abs(x))),
    WORD("atanh", floats, nearly, atanh(fraction(x))),
    WORD("cbrt rcbrt", floats, nearly, d.below(2) == 0 ? cbrt(x) : rcbrt(x)),
    WORD("hypot rhypot", floats, nearly,
         d.below(2) == 0 ? hypot(x, d.like(x)) : rhypot(x, d.like(x))),
    WORD("exp10", floats, nearly, exp10(x)),
    WORD("erf", floats, nearly, erf(x)),
    WORD("erfc erfcx", floats, nearly, d.below(2) == 0 ? erfc(x) : erfcx(x)),
    WORD("erfinv", floats, nearly, erfinv(fraction(x))),
    WORD("erfcinv", floats, nearly, erfcinv(abs(fraction(x)))),
    WORD("normcdf", floats, nearly, normcdf(x)),
    WORD("normcdfinv", floats, nearly, normcdfinv(abs(fraction(x)))),
    WORD("lgamma", floats, nearly, lgamma(abs(x) + 3.0)),
    WORD("tgamma", floats, nearly, tgamma(abs(x) + 0.5)),
};

}  // namespace

std::span<const DrawnWord> drawn_functions() { return functions; }

}  // namespace tilewright::dsl
