// Derivatives of softmax and of norms over rows, by their results and statistics.
#include "graph/ops/derivatives/differential.h"
#include "graph/ops/reductions.h"

namespace tilewright::graph {

// Rows of -infinity alone, as masks make them, have results of NaN, which a choice leaves out.
Cotangents derivative(The<Op::softmax>, const Differential& d) {
  Term g = d.cotangent(), y = d.result();
  return {scaled(g - summed(scaled(g, y), d.node.attributes.axes).like(g), y)};
}
Cotangents derivative(The<Op::log_softmax>, const Differential& d) {
  Term g = d.cotangent(), y = d.result();
  return {g - scaled(summed(g, d.node.attributes.axes).like(g), unary(Op::exp, y))};
}

namespace {

// Sums over all rows, for a parameter of the last axis.
Term over_rows(const Term& x) {
  std::vector<int> axes;
  for (int i = 0; i + 1 < x.shape().rank(); ++i) axes.push_back(i);
  return summed(x, axes).reshape({x.shape()[-1]});
}

}  // namespace

Cotangents derivative(The<Op::layer_norm>, const Differential& d) {
  Cotangents all(d.operands.size());
  Term g = d.cotangent(), x = d.operand(0);
  const std::vector<int> last = {x.shape().rank() - 1};
  if (element_count(x.shape()) == 0) return all;
  Term deviation = x - average(x, last).like(x);
  Term variance = average(deviation * deviation, last);
  Term rstd = unary(Op::rsqrt, variance + d.node.attributes.number).like(x);
  Term normal = deviation * rstd;
  if (d.wants(0)) {
    Term weighted = d.operands.size() > 1 ? g * d.operand(1).along_rows_of(g) : g;
    Term along = average(weighted * normal, last).like(x);
    all[0] = rstd * (weighted - average(weighted, last).like(x) - normal * along);
  }
  if (d.wants(1)) all[1] = over_rows(g * normal);
  if (d.wants(2)) all[2] = over_rows(g);
  return all;
}

Cotangents derivative(The<Op::rms_norm>, const Differential& d) {
  Cotangents all(d.operands.size());
  Term g = d.cotangent(), x = d.operand(0);
  const std::vector<int> last = {x.shape().rank() - 1};
  if (element_count(x.shape()) == 0) return all;
  Term rstd = unary(Op::rsqrt, average(x * x, last) + d.node.attributes.number).like(x);
  Term normal = x * rstd;
  if (d.wants(0)) {
    Term weighted = d.operands.size() > 1 ? g * d.operand(1).along_rows_of(g) : g;
    all[0] = rstd * (weighted - normal * average(weighted * normal, last).like(x));
  }
  if (d.wants(1)) all[1] = over_rows(g * normal);
  return all;
}

}  // namespace tilewright::graph
