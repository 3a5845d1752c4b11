#include <array>

#include "dsl/math/functions.h"

namespace tilewright::dsl::math {
namespace {

// Payne and Hanek's reduction in double precision. An angle x is a multiple x (2/pi) of quarter
// turns, of which only the remainder by 4 matters. With 2/pi cut into parts of 29 bits, x times a
// part is exact in f64. Bits of 2/pi so high that times any x of a range they give multiples of 4
// are left out; two parts and a full f64 below them then reach 60 bits past the point, far enough
// since no f32 comes nearer to a multiple of pi/2 than about 2^-30.
struct Parts {
  double below;                // for |x| below this
  double first, second, rest;  // of 2/pi divided by 4
};
constexpr std::array<Parts, 4> parts = {{
    {0x1p51, 0x1.45f306d000000p-3, 0x1.9391054000000p-32, 0x1.4fe13abe8fa9ap-61},
    {0x1p77, 0x1.727220a000000p-29, 0x1.29fc275000000p-58, 0x1.f47d4d377036ep-88},
    {0x1p103, 0x1.4a7f09c000000p-56, 0x1.5f47d4d000000p-84, 0x1.bb81b6c52b328p-115},
    {0x1p128, 0x1.abe8fa9000000p-81, 0x1.4ddc0db000000p-110, 0x1.8a5664f10e410p-140},
}};

struct ReducedAngle {
  Expression quarter;  // i32, only its low two bits matter
  Expression angle;    // f32, between -pi/4 and pi/4
};

ReducedAngle reduce_angle(const Expression& magnitude) {
  InsertionPoint& site = magnitude.site();
  auto part = [&](double Parts::*which) {
    Expression chosen = number(site, DType::f64, parts.back().*which);
    for (std::size_t i = parts.size() - 1; i-- > 0;)
      chosen = choose(magnitude < parts[i].below, parts[i].*which, chosen);
    return chosen;
  };
  // A turn is 1 here, so that its multiples are whole numbers.
  auto fraction = [](const Expression& turns) { return turns - apply(ir::Op::round_, turns); };
  Expression x = cast(magnitude, DType::f64);
  Expression turns = fraction(x * part(&Parts::first));
  turns = fraction(fma(x, part(&Parts::second), turns));
  Expression quarters = turns * 4.0;
  Expression whole = apply(ir::Op::round_, quarters);
  Expression rest = fma(x, part(&Parts::rest) * 4.0, quarters - whole);
  return {cast(whole, DType::i32), cast(rest * 1.57079632679489661923, DType::f32)};
}

// sin or cos of the angle by the parity of the quarter, and its sign bit by the second bit.
Expression by_quarter(const Expression& quarter, const Expression& angle) {
  Expression z = angle * angle;
  // Coefficients as in Cephes' sinf and cosf.
  Expression p = polynomial(z, {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4});
  Expression sine = fma(p * z, angle, angle);
  Expression q = polynomial(z, {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5});
  Expression cosine = fma(z, fma(q, z, -0.5), 1.0);
  Expression odd = apply(ir::Op::ne_, quarter & 1, integer_like(quarter, 0));
  Expression sign = (quarter & 2) << 30;
  return bitcast(bitcast(choose(odd, cosine, sine), DType::i32) ^ sign, DType::f32);
}

}  // namespace

Expression sin(const Expression& x) {
  ReducedAngle reduced = reduce_angle(apply(ir::Op::abs_, x));
  Expression sign = bitcast(x, DType::i32) & INT32_MIN;
  Expression result = by_quarter(reduced.quarter, reduced.angle);
  return bitcast(bitcast(result, DType::i32) ^ sign, DType::f32);
}

Expression cos(const Expression& x) {
  ReducedAngle reduced = reduce_angle(apply(ir::Op::abs_, x));
  // cos(a) is sin(a + pi/2).
  Expression next = reduced.quarter + integer_like(reduced.quarter, 1);
  return by_quarter(next, reduced.angle);
}

}  // namespace tilewright::dsl::math
