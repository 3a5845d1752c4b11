#include "graph/ops/family.h"

#include <cmath>
#include <numbers>

#include "graph/ops/pointwise.h"

namespace tilewright::graph {

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Term decomposition(The<Op::relu>, const Composite& site) {
  const Term& x = site.operands[0];
  return x.make(Op::maximum, {x.id, x.number(0).id});
}
HostTensor meaning(The<Op::relu>, const Node& node, const Operands& x) {
  HostTensor result = *x[0];
  for (std::int64_t i = 0; i < result.count(); ++i)
    if (result.number(i) < 0) result.set(i, ir::Scalar::of_integer(node.dtype, 0));
  return result;
}

Term decomposition(The<Op::silu>, const Composite& site) {
  Term x = site.wide(0);
  return x * unary(Op::sigmoid, x);
}
HostTensor meaning(The<Op::silu>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return v * logistic(v); });
}

// The tanh form uses (1 + tanh(y)) / 2 = sigmoid(2 y), which does not cancel.
Term decomposition(The<Op::gelu>, const Composite& site) {
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

Term decomposition(The<Op::tanhshrink>, const Composite& site) {
  Term x = site.wide(0);
  return x - unary(Op::tanh, x);
}
HostTensor meaning(The<Op::tanhshrink>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return v - std::tanh(v); });
}

// log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)), where nothing overflows.
Term decomposition(The<Op::softplus>, const Composite& site) {
  const Attributes& attributes = site.node.attributes;
  Term x = site.wide(0), z = x * attributes.number;
  Term positive = z.make(Op::maximum, {z.id, z.number(0).id});
  Term small = log_of_one_plus(unary(Op::exp, unary(Op::abs, z) * -1.0));
  Term is_linear = compared(Op::gt, z, attributes.threshold);
  return choice(is_linear, x, (positive + small) * (1 / attributes.number));
}
HostTensor meaning(The<Op::softplus>, const Node& node, const Operands& x) {
  const double beta = node.attributes.number, threshold = node.attributes.threshold;
  return map(node, *x[0], [&](double v) {
    double z = v * beta;
    return z > threshold ? v : (std::fmax(z, 0) + std::log1p(std::exp(-std::abs(z)))) / beta;
  });
}

}  // namespace tilewright::graph
