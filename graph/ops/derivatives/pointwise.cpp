// Derivatives of pointwise ops.
#include <cmath>
#include <numbers>

#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

Cotangents derivative(The<Op::neg>, const Differential& d) {
  return {unary(Op::neg, d.cotangent())};
}
// 0 at 0.
Cotangents derivative(The<Op::abs>, const Differential& d) {
  Term g = d.cotangent(), x = d.operand(0);
  Term below = choice(compared(Op::lt, x, 0), unary(Op::neg, g), g.number(0));
  return {choice(compared(Op::gt, x, 0), g, below)};
}
Cotangents derivative(The<Op::exp>, const Differential& d) {
  return {scaled(d.cotangent(), d.result())};
}
Cotangents derivative(The<Op::exp2>, const Differential& d) {
  return {scaled(d.cotangent(), d.result() * std::numbers::ln2)};
}
Cotangents derivative(The<Op::log>, const Differential& d) {
  return {divided(d.cotangent(), d.operand(0))};
}
Cotangents derivative(The<Op::log2>, const Differential& d) {
  return {divided(d.cotangent(), d.operand(0) * std::numbers::ln2)};
}
Cotangents derivative(The<Op::sin>, const Differential& d) {
  return {d.cotangent() * unary(Op::cos, d.operand(0))};
}
Cotangents derivative(The<Op::cos>, const Differential& d) {
  return {d.cotangent() * unary(Op::neg, unary(Op::sin, d.operand(0)))};
}
Cotangents derivative(The<Op::tanh>, const Differential& d) {
  Term y = d.result();
  return {d.cotangent() * (y.number(1) - y * y)};
}
Cotangents derivative(The<Op::erf>, const Differential& d) {
  Term x = d.operand(0), bell = unary(Op::exp, unary(Op::neg, x * x));
  return {d.cotangent() * (bell * (2 * std::numbers::inv_sqrtpi))};
}
Cotangents derivative(The<Op::sigmoid>, const Differential& d) {
  Term y = d.result();
  return {d.cotangent() * ((y.number(1) - y) * y)};
}
Cotangents derivative(The<Op::sqrt>, const Differential& d) {
  return {divided(d.cotangent(), d.result() * 2.0)};
}
Cotangents derivative(The<Op::rsqrt>, const Differential& d) {
  Term y = d.result();
  return {scaled(d.cotangent(), y * y * y * -0.5)};
}
Cotangents derivative(The<Op::to>, const Differential& d) { return {d.cotangents[0]}; }

Cotangents derivative(The<Op::add>, const Differential& d) {
  return {d.cotangents[0], d.cotangents[0]};
}
Cotangents derivative(The<Op::sub>, const Differential& d) {
  Cotangents all = {d.cotangents[0], std::nullopt};
  if (d.wants(1)) all[1] = unary(Op::neg, d.cotangent());
  return all;
}
namespace {

// A constant is finite, so that the product is never lost.
Term times(const Term& g, const Term& x) {
  const Node& node = x.builder->node(x.id);
  const bool is_finite = node.op == Op::full && std::isfinite(node.attributes.number);
  return is_finite ? g * x : scaled(g, x);
}

}  // namespace
Cotangents derivative(The<Op::mul>, const Differential& d) {
  Cotangents all(2);
  Term g = d.cotangent();
  if (d.wants(0)) all[0] = times(g, d.operand(1));
  if (d.wants(1)) all[1] = times(g, d.operand(0));
  return all;
}
Cotangents derivative(The<Op::div>, const Differential& d) {
  Cotangents all(2);
  Term g = d.cotangent(), b = d.operand(1);
  if (d.wants(0)) all[0] = divided(g, b);
  if (d.wants(1)) all[1] = scaled(g, unary(Op::neg, d.operand(0) / b / b));
  return all;
}
// a - b * trunc(a / b), with a quotient that does not change.
Cotangents derivative(The<Op::fmod>, const Differential& d) {
  Cotangents all = {d.cotangents[0], std::nullopt};
  if (!d.wants(1)) return all;
  Term quotient = d.operand(0) / d.operand(1);
  Term whole =
      choice(compared(Op::lt, quotient, 0), unary(Op::ceil, quotient), unary(Op::floor, quotient));
  all[1] = scaled(d.cotangent(), unary(Op::neg, whole));
  return all;
}
// a - b * floor(a / b).
Cotangents derivative(The<Op::remainder>, const Differential& d) {
  Cotangents all = {d.cotangents[0], std::nullopt};
  if (!d.wants(1)) return all;
  Term quotient = unary(Op::floor, d.operand(0) / d.operand(1));
  all[1] = scaled(d.cotangent(), unary(Op::neg, quotient));
  return all;
}

namespace {

// The cotangent goes to the operand that is the extremum, half to each of equals; a NaN passes to
// both.
Cotangents of_extremum(const Differential& d, Op is_other) {
  Cotangents all(2);
  Term g = d.cotangent(), half = g * 0.5;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!d.wants(i)) continue;
    Term own = d.operand(i), other = d.operand(1 - i);
    Term share = choice(compared(Op::eq, own, other), half, g);
    all[i] = choice(compared(is_other, own, other), g.number(0), share);
  }
  return all;
}

}  // namespace
Cotangents derivative(The<Op::maximum>, const Differential& d) { return of_extremum(d, Op::lt); }
Cotangents derivative(The<Op::minimum>, const Differential& d) { return of_extremum(d, Op::gt); }

// The side that is not taken gets 0, whatever its slope is behind it.
Cotangents derivative(The<Op::where>, const Differential& d) {
  Cotangents all(3);
  const Term &condition = d.operands[0], g = d.cotangent();
  if (d.wants(1)) all[1] = choice(condition, g, g.number(0));
  if (d.wants(2)) all[2] = choice(condition, g.number(0), g);
  return all;
}

// Steps: 0 wherever there is a derivative.
Cotangents derivative(The<Op::floor>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::ceil>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::round>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::floor_divide>, const Differential& d) { return d.none(); }

Cotangents derivative(The<Op::expm1>, const Differential& d) {
  return {scaled(d.cotangent(), d.result() + 1.0)};
}
Cotangents derivative(The<Op::log1p>, const Differential& d) {
  return {divided(d.cotangent(), d.operand(0) + 1.0)};
}
Cotangents derivative(The<Op::reciprocal>, const Differential& d) {
  Term y = d.result();
  return {scaled(d.cotangent(), unary(Op::neg, y * y))};
}
Cotangents derivative(The<Op::square>, const Differential& d) {
  return {scaled(d.cotangent(), d.operand(0) * 2.0)};
}

}  // namespace tilewright::graph
