// Derivatives of activations: by their own formulas, which PyTorch uses too, where the
// decomposition has ties or cancels.
#include <cmath>
#include <numbers>

#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

// 0 at 0, where the maximum that it decomposes into gives a half.
Cotangents derivative(The<Op::relu>, const Differential& d) {
  Term g = d.cotangent();
  return {choice(compared(Op::le, d.result(), 0), g.number(0), g)};
}
Cotangents derivative(The<Op::silu>, const Differential& d) {
  Term x = d.operand(0), s = unary(Op::sigmoid, x);
  return {d.cotangent() * (s * (x * (s.number(1) - s) + 1.0))};
}
Cotangents derivative(The<Op::gelu>, const Differential& d) {
  if (d.node.attributes.tanh_form) return by_decomposition(d);
  Term x = d.operand(0);
  Term share = (unary(Op::erf, x * (1 / std::numbers::sqrt2)) + 1.0) * 0.5;
  Term bell = unary(Op::exp, x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return {d.cotangent() * (share + x * bell)};
}
Cotangents derivative(The<Op::softplus>, const Differential& d) {
  Term g = d.cotangent(), z = d.operand(0) * d.node.attributes.number;
  Term is_linear = compared(Op::gt, z, d.node.attributes.threshold);
  return {choice(is_linear, g, g * unary(Op::sigmoid, z))};
}
// 1 - (1 - tanh(x)^2), which does not cancel.
Cotangents derivative(The<Op::tanhshrink>, const Differential& d) {
  Term t = unary(Op::tanh, d.operand(0));
  return {d.cotangent() * (t * t)};
}

}  // namespace tilewright::graph
