// Derivatives of products of matrices.
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

Term transposed(const Term& x) {
  std::vector<int> axes;
  for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return x.make(Op::permute, {x.id}, {.axes = axes, .sizes = {}});
}

}  // namespace

// In the operands' dtype, as the product itself; of 8-bit floats in that of the sums.
Cotangents derivative(The<Op::matmul>, const Differential& d) {
  Cotangents all(2);
  const DType own = d.operands[0].dtype(), dtype = is_float8(own) ? DType::f32 : own;
  Term g = d.cotangents[0]->to(dtype);
  auto of = [](const Term& a, const Term& b) { return a.make(Op::matmul, {a.id, b.id}); };
  if (d.wants(0)) all[0] = of(g, transposed(d.operands[1].to(dtype)));
  if (d.wants(1)) all[1] = of(transposed(d.operands[0].to(dtype)), g);
  return all;
}
Cotangents derivative(The<Op::grouped_matmul>, const Differential& d) {
  Cotangents all(3);
  const Term &a = d.operands[0], &b = d.operands[1], &ends = d.operands[2];
  const Term g = d.cotangents[0]->to(a.dtype());
  auto of = [&](const Term& x, const Term& y) {
    return x.make(Op::grouped_matmul, {x.id, y.id, ends.id});
  };
  if (b.shape().rank() == 3) {
    if (d.wants(0)) all[0] = of(g, transposed(b));
    if (d.wants(1)) all[1] = of(transposed(a), g);
  } else {
    if (d.wants(0)) all[0] = transposed(of(b, transposed(g)));
    if (d.wants(1)) all[1] = of(transposed(a), g);
  }
  return all;
}
Cotangents derivative(The<Op::linear>, const Differential& d) { return by_decomposition(d); }
Cotangents derivative(The<Op::quantized_linear>, const Differential& d) {
  return by_decomposition(d);
}

}  // namespace tilewright::graph
