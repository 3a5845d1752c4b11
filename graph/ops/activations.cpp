#include "graph/ops/family.h"

#include <cmath>
#include <numbers>

namespace tilewright::graph {

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Term decomposition(The<Op::relu>, const Site& site) {
  const Term& x = site.operands[0];
  return x.make(Op::maximum, {x.id, x.number(0).id});
}
HostTensor meaning(The<Op::relu>, const Node& node, const Operands& x) {
  HostTensor result = *x[0];
  for (std::int64_t i = 0; i < result.count(); ++i)
    if (result.number(i) < 0) result.set(i, ir::Scalar::of_integer(node.dtype, 0));
  return result;
}

Term decomposition(The<Op::silu>, const Site& site) {
  Term x = site.wide(0);
  return x * unary(Op::sigmoid, x);
}
HostTensor meaning(The<Op::silu>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return v * logistic(v); });
}

// The tanh form uses (1 + tanh(y)) / 2 = sigmoid(2 y), which does not cancel.
Term decomposition(The<Op::gelu>, const Site& site) {
  Term x = site.wide(0);
  if (!site.node.attributes.tanh_form)
    return x * 0.5 * (unary(Op::erf, x * (1 / std::numbers::sqrt2)) + 1.0);
  double c = 2 * std::sqrt(2 / std::numbers::pi);
  return x * unary(Op::sigmoid, x * (x * x * (c * 0.044715) + c));
}
HostTensor meaning(The<Op::gelu>, const Node& node, const Operands& x) {
  if (node.attributes.tanh_form)
    // (1 + tanh(y)) / 2 as the logistic function of 2 y, which does not cancel.
    return map(node, *x[0], [](double v) {
      return v * logistic(2 * std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v));
    });
  return map(node, *x[0],
             [](double v) { return 0.5 * v * (1 + std::erf(v / std::numbers::sqrt2)); });
}

Term decomposition(The<Op::tanhshrink>, const Site& site) {
  Term x = site.wide(0);
  return x - unary(Op::tanh, x);
}
HostTensor meaning(The<Op::tanhshrink>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return v - std::tanh(v); });
}

}  // namespace tilewright::graph
