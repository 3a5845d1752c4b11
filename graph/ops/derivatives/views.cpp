// Derivatives of views and of joining: the cotangent goes back to where the elements were.
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

Cotangents derivative(The<Op::reshape>, const Differential& d) {
  return {d.cotangents[0]->reshape(d.operands[0].shape())};
}
Cotangents derivative(The<Op::permute>, const Differential& d) {
  const std::vector<int>& axes = d.node.attributes.axes;
  std::vector<int> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    back[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  const Term& g = *d.cotangents[0];
  return {g.make(Op::permute, {g.id}, {.axes = back, .sizes = {}})};
}
Cotangents derivative(The<Op::expand>, const Differential& d) {
  const Shape from = d.operands[0].shape();
  std::vector<int> repeated;
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != d.node.shape[i]) repeated.push_back(i);
  return {summed(d.cotangent(), repeated)};
}

namespace {

// Elements `step` apart along the axis, zeros between them.
Term spread(const Term& g, int axis, std::int64_t step) {
  if (step == 1) return g;
  Shape apart = g.shape(), gap, whole = g.shape();
  apart.insert(apart.begin() + axis + 1, 1);
  gap = apart;
  gap[axis + 1] = step - 1;
  whole[axis] *= step;
  Term all = joined({g.reshape(apart), zeros_of(g, gap)}, axis + 1).reshape(whole);
  return sliced(all, axis, 0, whole[axis] - step + 1);
}

}  // namespace

Cotangents derivative(The<Op::slice>, const Differential& d) {
  const Attributes& at = d.node.attributes;
  const int axis = at.axes[0];
  const Shape whole = d.operands[0].shape();
  Term g = *d.cotangents[0];
  const std::int64_t count = g.shape()[axis];
  if (element_count(g.shape()) == 0) return d.none();
  if (at.step < 0) g = reversed(g, axis);
  const std::int64_t first = at.step < 0 ? at.start + (count - 1) * at.step : at.start;
  g = spread(g, axis, at.step < 0 ? -at.step : at.step);
  const std::int64_t behind = whole[axis] - first - g.shape()[axis];
  std::vector<Term> parts;
  Shape gap = whole;
  gap[axis] = first;
  if (first > 0) parts.push_back(zeros_of(g, gap));
  parts.push_back(g);
  gap[axis] = behind;
  if (behind > 0) parts.push_back(zeros_of(g, gap));
  return {joined(parts, axis)};
}

Cotangents derivative(The<Op::cat>, const Differential& d) {
  const int axis = d.node.attributes.axes[0];
  Cotangents all(d.operands.size());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < d.operands.size(); ++i) {
    const std::int64_t end = begin + d.operands[i].shape()[axis];
    if (d.wants(i)) all[i] = sliced(*d.cotangents[0], axis, begin, end);
    begin = end;
  }
  return all;
}

}  // namespace tilewright::graph
