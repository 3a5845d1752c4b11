// sin and cos of f64 by Payne and Hanek's reduction, in numbers of two parts.
#include <array>
#include <limits>

#include "dsl/math/double_functions.h"

namespace tilewright::dsl::math::wide {
namespace {

using ir::Op;

// An angle x is x/(2 pi) turns, of which only the fraction matters. The bits of 1/(2 pi) that are
// so high that their product with any x of a range is a whole number of turns are left out, and
// four numbers of 53 bits hold the bits below them. For |x| below `below`, and not below that of
// the row before, they reach 120 bits past the point. No f64 comes nearer to a multiple of pi/2
// than about 2^-61. From 2^500 on the parts are scaled by 2^600, and x by 2^-600.
struct Parts {
  double below;
  std::array<double, 4> of_turn;
};
constexpr double scaled_from = 0x1p500, scale = 0x1p600;
constexpr std::array<Parts, 25> parts = {{
    {0x1p100,
     {0x1.45f306dc9c882p-3, 0x1.4a7f09d5f47d4p-56, 0x1.a6ee06db14accp-109, 0x1.3c439041fe516p-162}},
    {0x1p140,
     {0x1.529fc2757d1f5p-54, 0x1.a6ee06db14accp-109, 0x1.3c439041fe516p-162,
      0x1.d5ef5de2b0db9p-217}},
    {0x1p180,
     {0x1.e8fa9a6ee06dbp-89, 0x1.4acc9e21c820fp-145, 0x1.e5163abdebbc5p-198,
      0x1.86dc91b8e9093p-252}},
    {0x1p220,
     {0x1.b6c52b3278872p-131, 0x1.07f9458eaf7aep-188, 0x1.e2b0db92371d2p-241,
      0x1.26e9700324977p-297}},
    {0x1p260,
     {0x1.0e4107f9458eap-172, 0x1.ef5de2b0db923p-225, 0x1.c74849ba5c00cp-279,
      0x1.24bba82746487p-332}},
    {0x1p300,
     {0x1.63abdebbc561bp-210, 0x1.c91b8e909374bp-264, 0x1.00324977504e8p-317,
      0x1.921cfe1deb1cbp-370}},
    {0x1p340,
     {0x1.61b7246e3a424p-250, 0x1.ba5c00c925dd4p-303, 0x1.3a32439fc3bd6p-359,
      0x1.cb129a73ee882p-414}},
    {0x1p380,
     {0x1.2126e97003249p-289, 0x1.dd413a32439fcp-343, 0x1.deb1cb129a73ep-398,
      0x1.d1046bea5d768p-451}},
    {0x1p420,
     {0x1.24977504e8c90p-329, 0x1.cfe1deb1cb129p-382, 0x1.4e7dd1046bea5p-435,
      0x1.aed1213a671c0p-488}},
    {0x1p460,
     {0x1.921cfe1deb1cbp-370, 0x1.29a73ee88235fp-426, 0x1.4baed1213a671p-480,
      0x1.8135a2fbf209cp-533}},
    {0x1p500,
     {0x1.8e5894d39f744p-409, 0x1.1afa975da2427p-465, 0x1.338e04d68befcp-519,
      0x1.04e64758e60d4p-572}},
    {0x1p540,
     {0x1.74411afa975dap+151, 0x1.213a671c09ad1p+96, 0x1.f7e413991d639p+42, 0x1.06a673e93908bp-11}},
    {0x1p580,
     {0x1.5da24274ce381p+111, 0x1.ad17df904e647p+56, 0x1.639835339f49cp+2, 0x1.08bf177bf2507p-51}},
    {0x1p620,
     {0x1.c09ad17df904ep+68, 0x1.91d639835339fp+14, 0x1.272117e2ef7e4p-40, 0x1.41d8ffc4bffefp-93}},
    {0x1p660,
     {0x1.209cc8eb1cc1ap+31, 0x1.339f49c845f8bp-22, 0x1.7bf250763ff12p-75, 0x1.fff7816603fbcp-128}},
    {0x1p700,
     {0x1.835339f49c845p-10, 0x1.f177bf250763fp-63, 0x1.e25fff7816603p-116,
      0x1.f79788c5ad053p-169}},
    {0x1p740,
     {0x1.08bf177bf2507p-51, 0x1.8ffc4bffef02cp-105, 0x1.80fef2f118b5ap-158,
      0x1.4da3eda6cfd9ep-215}},
    {0x1p780,
     {0x1.283b1ff897ffdp-90, 0x1.c0b301fde5e23p-143, 0x1.6b414da3eda6cp-199,
      0x1.fb3c9f2c26dd3p-252}},
    {0x1p820,
     {0x1.ffef02cc07f79p-129, 0x1.e2316b414da3ep-183, 0x1.b4d9fb3c9f2c2p-236,
      0x1.b74f463f669e5p-290}},
    {0x1p860,
     {0x1.f79788c5ad053p-169, 0x1.a3eda6cfd9e4fp-223, 0x1.2c26dd3d18fd9p-276,
      0x1.4f2ff516ba93dp-329}},
    {0x1p900,
     {0x1.05368fb69b3f6p-209, 0x1.e4f96136e9e8cp-263, 0x1.fb34f2ff516bap-317,
      0x1.27bac7ebe5f17p-370}},
    {0x1p940,
     {0x1.3f6793e584dbap-249, 0x1.e8c7ecd3cbfd4p-303, 0x1.6ba93dd63f5f2p-357,
      0x1.f17b3d0739f78p-410}},
    {0x1p980,
     {0x1.b74f463f669e5p-290, 0x1.fd45aea4f758fp-343, 0x1.af97c5ecf41cep-396,
      0x1.f78a5292ea6bfp-450}},
    {0x1p1020,
     {0x1.4f2ff516ba93dp-329, 0x1.ac7ebe5f17b3dp-382, 0x1.ce7de294a4ba9p-440,
      0x1.5fdafd88fc6aep-493}},
    {std::numeric_limits<double>::infinity(),
     {0x1.27bac7ebe5f17p-370, 0x1.67a0e73ef14a5p-423, 0x1.2ea6bfb5fb11fp-478,
      0x1.1aba10ac06608p-531}},
}};

// high + low, where low is what high lost by rounding.
struct Sum {
  Expression high, low;
};
Sum exact_sum(const Expression& a, const Expression& b) {
  Expression sum = a + b;
  Expression other = sum - a;
  return {sum, a - (sum - other) + (b - other)};
}
Sum exact_product(const Expression& a, const Expression& b) {
  Expression product = a * b;
  return {product, fma(a, b, apply(Op::neg_, product))};
}

struct ReducedAngle {
  Expression quarter;  // i64, only its low two bits matter
  Sum angle;           // between -pi/4 and pi/4
};

ReducedAngle reduce_angle(const Expression& magnitude) {
  InsertionPoint& site = magnitude.site();
  auto part = [&](std::size_t which) {
    Expression chosen = number(site, DType::f64, parts.back().of_turn[which]);
    for (std::size_t i = parts.size() - 1; i-- > 0;)
      chosen = choose(magnitude < parts[i].below, parts[i].of_turn[which], chosen);
    return chosen;
  };
  auto fraction = [](const Expression& turns) { return turns - apply(Op::round_, turns); };
  Expression x = choose(magnitude < scaled_from, magnitude, magnitude * (1 / scale));
  Sum first = exact_product(x, part(0)), second = exact_product(x, part(1)),
      third = exact_product(x, part(2));
  Expression rest = fma(x, part(3), third.low);
  Sum turns = exact_sum(fraction(first.high), fraction(first.low));
  Expression lost = turns.low;
  for (const Expression& next : {fraction(second.high), second.low, third.high}) {
    turns = exact_sum(turns.high, next);
    lost = lost + turns.low;
  }
  Expression quarters = turns.high * 4.0;
  Expression whole = apply(Op::round_, quarters);
  Sum remainder = exact_sum(quarters - whole, (lost + rest) * 4.0);
  constexpr double half_pi = 0x1.921fb54442d18p0, half_pi_rest = 0x1.1a62633145c07p-54;
  Sum angle = exact_product(remainder.high, number(site, DType::f64, half_pi));
  Expression low = fma(remainder.low, half_pi, fma(remainder.high, half_pi_rest, angle.low));
  return {cast(whole, DType::i64), {angle.high, low}};
}

// Coefficients of both as in FreeBSD's msun.
Expression sine_of(const Sum& angle) {
  const auto& [x, low] = angle;
  Expression z = x * x, cube = z * x;
  Expression r = polynomial(
      z, {8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
          -2.50507602534068634195e-08, 1.58969099521155010221e-10});
  Expression tail = z * (low * 0.5 - cube * r) - low;
  return x - fma(cube, 1.66666666666666324348e-01, tail);
}
Expression cosine_of(const Sum& angle) {
  const auto& [x, low] = angle;
  Expression z = x * x;
  Expression r = z * polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                    2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                    2.08757232129817482790e-09, -1.13596475577881948265e-11});
  Expression half = z * 0.5;
  Expression one_less = fma(half, -1.0, 1.0);
  Expression lost = fma(one_less, -1.0, 1.0) - half;
  return one_less + (lost + (z * r - x * low));
}

// sin or cos of the angle by the parity of the quarter, and its sign bit by the second bit.
Expression by_quarter(const Expression& quarter, const Sum& angle) {
  Expression odd = apply(Op::ne_, quarter & 1, integer_like(quarter, 0));
  Expression sign = (quarter & 2) << 62;
  Expression chosen = choose(odd, cosine_of(angle), sine_of(angle));
  return bitcast(bitcast(chosen, DType::i64) ^ sign, DType::f64);
}

}  // namespace

Expression sin(const Expression& x) {
  Expression magnitude = apply(Op::abs_, x);
  ReducedAngle reduced = reduce_angle(magnitude);
  Expression sign = bitcast(x, DType::i64) & INT64_MIN;
  Expression result = bitcast(by_quarter(reduced.quarter, reduced.angle), DType::i64) ^ sign;
  // Below 2^-27 the sine is its angle, whose parts could be subnormal.
  return choose(magnitude < 0x1p-27, x, bitcast(result, DType::f64));
}

Expression cos(const Expression& x) {
  ReducedAngle reduced = reduce_angle(apply(Op::abs_, x));
  // cos(a) is sin(a + pi/2).
  Expression next = reduced.quarter + integer_like(reduced.quarter, 1);
  return by_quarter(next, reduced.angle);
}

}  // namespace tilewright::dsl::math::wide
