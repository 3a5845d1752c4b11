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

const DrawnWord functions[] = {
    DRAWN_WORD("abs", anything, exactly, abs(x)),
    DRAWN_WORD("maximum minimum", integers, exactly, maximum(minimum(x, d.like(x)), 3)),
    DRAWN_WORD("PropagateNan", floats, exactly, maximum(x, d.like(x), PropagateNan::none)),
    DRAWN_WORD("add sub mul", integers, exactly, (x + d.like(x)) * (x - 7)),
    DRAWN_WORD("clamp", integers, exactly, clamp(x, 2, 90)),
    DRAWN_WORD("where", anything, exactly, where(x == d.like(x), x, d.like(x))),
    DRAWN_WORD("cast x.to", integers, exactly, cast(x, d.below(2) == 0 ? f32 : i64)),
    DRAWN_WORD("cast fp_downcast_rounding Rounding", floats, exactly,
               cast(cast(x, f16, d.below(2) == 0 ? Rounding::toward_zero : Rounding::down), f32)),
    DRAWN_WORD("bitcast", floats, exactly, bitcast(as_f32(no_nan(x)), i32)),
    DRAWN_WORD("cdiv", integers, exactly, cdiv(x, 1 + d.below(9))),
    DRAWN_WORD("umulhi", integers, exactly, umulhi(x, d.like(x))),
    DRAWN_WORD("popc clz ffs", integers, exactly, popc(x) * 4096 + clz(x) * 64 + ffs(x)),
    DRAWN_WORD("brev", integers, exactly, brev(x)),
    DRAWN_WORD("mulhi hadd", integers, exactly, mulhi(x, d.like(x)) ^ hadd(x, d.like(x))),
    DRAWN_WORD("rhadd sad", integers, exactly, sad(rhadd(x, d.like(x)), x, d.like(x))),
    DRAWN_WORD("mul24", integers, exactly, mul24(cast(x, i32), cast(d.like(x), i32))),
    DRAWN_WORD("byte_perm", integers, exactly,
               byte_perm(cast(x, u32), cast(d.like(x), u32), cast(d.like(x), u32))),
    DRAWN_WORD("ceil floor", floats, exactly, ceil(x) - floor(d.like(x))),
    DRAWN_WORD("round rint nearbyint", floats, exactly, round(x) + rint(x) * nearbyint(d.like(x))),
    DRAWN_WORD("trunc", floats, exactly, trunc(x)),
    DRAWN_WORD("llrint", floats, exactly, llrint(x)),
    DRAWN_WORD("copysign signbit", floats, exactly,
               where(signbit(no_nan(x)), copysign(no_nan(x), no_nan(d.like(x))), x)),
    DRAWN_WORD("isnan isinf isfinite isfinited", floats, exactly,
               cast(isnan(x), i32) + cast(isinf(x), i32) * 2 + cast(isfinite(x), i32) * 4),
    DRAWN_WORD("nextafter", floats, exactly, nextafter(x, d.like(x))),
    DRAWN_WORD("ilogb", floats, exactly, ilogb(x)),
    DRAWN_WORD("logb", floats, exactly, logb(x)),
    DRAWN_WORD("scalbn ldexp", floats, exactly, scalbn(x, d.below(9) - 4)),
    DRAWN_WORD("fdim", floats, exactly, fdim(x, d.like(x))),
    DRAWN_WORD("fmod", floats, exactly, fmod(x, d.like(x))),
    DRAWN_WORD("remainder", floats, exactly, remainder(x, d.like(x))),
    DRAWN_WORD("saturate", floats, exactly, saturate(x)),
    DRAWN_WORD("fma", floats, exactly, fma(x, d.like(x), 0.5)),
    DRAWN_WORD("fdiv div_rn", floats, exactly, fdiv(x, d.like(x)) + div_rn(d.like(x), 3.0)),
    DRAWN_WORD("sqrt sqrt_rn", floats, exactly, sqrt(abs(x)) + sqrt_rn(abs(d.like(x)))),
    DRAWN_WORD("map_elementwise", integers, exactly,
               map_elementwise([](Tile a, Tile b) { return a * 3 + b; }, x, d.like(x))),
    DRAWN_WORD("inline_asm_elementwise", integers, exactly,
               inline_asm_elementwise({"add.s32 $0, $1, $2;", "=r,r,r"},
                                      {cast(x, i32), cast(d.like(x), i32)}, i32,
                                      [](const Tiles& t) { return t[0] + t[1]; })),
    DRAWN_WORD("philox", integers, exactly, philox(7, x, 1, 2, 3)[2]),
    DRAWN_WORD("randint", integers, exactly, randint(x, offsets(x))),
    DRAWN_WORD("rand uint_to_uniform_float", integers, exactly,
               rand(3, x) + uint_to_uniform_float(cast(x, u32))),
    DRAWN_WORD("randn pair_uniform_to_normal", integers, nearly, randn(4, x)),

    DRAWN_WORD("exp exp2", floats, nearly, d.below(2) == 0 ? exp(x) : exp2(x)),
    DRAWN_WORD("log log2 log10", floats, nearly,
               d.below(2) == 0   ? log(abs(x))
               : d.below(2) == 0 ? log2(abs(x))
                                 : log10(abs(x))),
    DRAWN_WORD("sin cos", floats, nearly, d.below(2) == 0 ? sin(x) : cos(x)),
    DRAWN_WORD("tan", floats, nearly, tan(fraction(x))),
    DRAWN_WORD("tanh", floats, nearly, tanh(x)),
    DRAWN_WORD("sigmoid", floats, nearly, sigmoid(x)),
    DRAWN_WORD("rsqrt", floats, nearly, rsqrt(abs(x))),
    DRAWN_WORD("log1p expm1", floats, nearly, d.below(2) == 0 ? log1p(abs(x)) : expm1(x)),
    DRAWN_WORD("pow", floats, nearly, pow(abs(x), fraction(d.like(x)))),
    DRAWN_WORD("asin", floats, nearly, asin(fraction(x))),
    DRAWN_WORD("acos", floats, nearly, acos(fraction(x))),
    DRAWN_WORD("atan atan2", floats, nearly,
               d.below(2) == 0 ? atan(x) : atan2(x, no_nan(d.like(x)))),
    DRAWN_WORD("sinpi", floats, nearly, sinpi(x)),
    DRAWN_WORD("cospi", floats, nearly, cospi(x)),
    DRAWN_WORD("sinh cosh", floats, nearly, d.below(2) == 0 ? sinh(x) : cosh(x)),
    DRAWN_WORD("asinh", floats, nearly, asinh(x)),
    DRAWN_WORD("acosh", floats, nearly, acosh(abs(x))),
    DRAWN_WORD("atanh", floats, nearly, atanh(fraction(x))),
    DRAWN_WORD("cbrt rcbrt", floats, nearly, d.below(2) == 0 ? cbrt(x) : rcbrt(x)),
    DRAWN_WORD("hypot rhypot", floats, nearly,
               d.below(2) == 0 ? hypot(x, d.like(x)) : rhypot(x, d.like(x))),
    DRAWN_WORD("exp10", floats, nearly, exp10(x)),
    DRAWN_WORD("erf", floats, nearly, erf(x)),
    DRAWN_WORD("erfc erfcx", floats, nearly, d.below(2) == 0 ? erfc(x) : erfcx(x)),
    DRAWN_WORD("erfinv", floats, nearly, erfinv(fraction(x))),
    DRAWN_WORD("erfcinv", floats, nearly, erfcinv(abs(fraction(x)))),
    DRAWN_WORD("normcdf", floats, nearly, normcdf(x)),
    DRAWN_WORD("normcdfinv", floats, nearly, normcdfinv(abs(fraction(x)))),
    DRAWN_WORD("lgamma", floats, nearly, lgamma(abs(x) + 3.0)),
    DRAWN_WORD("tgamma", floats, nearly, tgamma(abs(x) + 0.5)),
};

}  // namespace

std::span<const DrawnWord> drawn_functions() { return functions; }

}  // namespace tilewright::dsl
