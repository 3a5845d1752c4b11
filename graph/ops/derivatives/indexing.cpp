// Derivatives of gathers and scatters: each the other way round.
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

Term scattered(const Term& self, const Term& index, const Term& source, int axis,
               ir::ReduceKind kind) {
  Attributes attributes;
  attributes.axes = {axis};
  attributes.reduction = kind;
  return self.make(Op::scatter_reduce, {self.id, index.id, source.id}, attributes);
}

}  // namespace

// Rows that several ids name get the sum of theirs, in f32 where they have fewer bits.
Cotangents derivative(The<Op::embedding>, const Differential& d) {
  const Shape table = d.operands[0].shape();
  const Term& ids = d.operands[1];
  const std::int64_t count = element_count(ids.shape());
  Term rows = d.cotangent().reshape({count, table[1]});
  Term numbers = ids.reshape({count, 1}).expand({count, table[1]});
  return {scattered(zeros_of(rows, table), numbers, rows, 0, ir::ReduceKind::sum), std::nullopt};
}

// Where a row is named twice, each of its sources gets the cotangent, as in PyTorch.
Cotangents derivative(The<Op::index_copy>, const Differential& d) {
  Cotangents all(3);
  const Term &index = d.operands[1], g = d.cotangent();
  const int axis = d.node.attributes.axes[0];
  const Shape source = d.operands[2].shape();
  if (d.wants(0))
    all[0] = g.make(Op::index_copy, {g.id, index.id, zeros_of(g, source).id},
                    {.axes = {axis}, .sizes = {}});
  if (d.wants(2)) {
    Shape aligned(source.size(), 1);
    aligned[axis] = source[axis];
    if (index.shape().size() == 2) aligned[0] = source[0];
    all[2] = elements_at(g, index.reshape(aligned).expand(source), axis);
  }
  return all;
}

namespace {

// Equal shares for all that are the extremum, among them the element that was there before.
Cotangents of_scattered_extremum(const Differential& d, int axis) {
  Cotangents all(3);
  const Term& index = d.operands[1];
  Term self = d.operand(0), source = d.operand(2), y = d.result();
  auto ones_where = [](const Term& condition, const Term& like) {
    return choice(condition, like.number(1), like.number(0));
  };
  Term is_self = compared(Op::eq, self, y);
  Term is_source = compared(Op::eq, source, elements_at(y, index, axis));
  Term count = scattered(ones_where(is_self, self), index, ones_where(is_source, source), axis,
                         ir::ReduceKind::sum);
  Term share = d.cotangent() / choice(compared(Op::eq, count, 0), count.number(1), count);
  if (d.wants(0)) all[0] = choice(is_self, share, share.number(0));
  if (d.wants(2)) {
    Term met = elements_at(share, index, axis);
    all[2] = choice(is_source, met, met.number(0));
  }
  return all;
}

// By the product of all others. Where one source of a place is 0, that one has the product without
// it, and the others have 0.
Cotangents of_scattered_product(const Differential& d, int axis) {
  Cotangents all(3);
  const Term& index = d.operands[1];
  Term self = d.operand(0), source = d.operand(2), g = d.cotangent();
  auto product = [&](const Term& of_self, const Term& of_source) {
    return scattered(of_self, index, of_source, axis, ir::ReduceKind::prod);
  };
  if (d.wants(0)) all[0] = scaled(g, product(self.number(1), source));
  if (!d.wants(2)) return all;
  Term is_zero = compared(Op::eq, source, 0), one = source.number(1), none = source.number(0);
  Term zeros =
      scattered(self.number(0), index, choice(is_zero, one, none), axis, ir::ReduceKind::sum);
  Term is_single = both(is_zero, compared(Op::eq, elements_at(zeros, index, axis), 1));
  Term without = product(self, choice(is_single, one, source));
  Term of_others = elements_at(g * d.result(), index, axis) / choice(is_zero, one, source);
  all[2] = choice(is_single, elements_at(g * without, index, axis), of_others);
  return all;
}

}  // namespace

Cotangents derivative(The<Op::scatter_reduce>, const Differential& d) {
  const int axis = d.node.attributes.axes[0];
  const ir::ReduceKind kind = d.node.attributes.reduction;
  if (kind == ir::ReduceKind::prod) return of_scattered_product(d, axis);
  if (kind != ir::ReduceKind::sum) return of_scattered_extremum(d, axis);
  Cotangents all = {d.cotangents[0], std::nullopt, std::nullopt};
  if (d.wants(2)) all[2] = elements_at(d.cotangent(), d.operands[1], axis);
  return all;
}

}  // namespace tilewright::graph
