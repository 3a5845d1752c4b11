#include "graph/ops/derivatives/differential.h"

#include "graph/ops/decompositions.h"

namespace tilewright::graph {

Term Differential::cotangent(std::size_t result) const {
  if (cotangents[result]) return wide(*cotangents[result]);
  return wide(results[result]).number(0);
}

void Differential::raise(std::string_view reason) const {
  raise_error(concat("[derivative] ", word_of(node.origin), " at ", At{node.where}, " ", reason));
}

std::vector<Term> appended(Op op, const std::vector<Term>& operands, const Attributes& attributes) {
  GraphBuilder& builder = *operands[0].builder;
  std::vector<NodeId> ids;
  for (const Term& operand : operands) ids.push_back(operand.id);
  std::vector<Term> results;
  for (NodeId id : builder.results_of(builder.append(op, std::move(ids), attributes)))
    results.push_back({&builder, id});
  return results;
}

Cotangents by_nodes(const Differential& d, const AppendNodes& append) {
  Graph formula;
  GraphBuilder builder(formula);
  builder.set_location(d.node.where);
  builder.set_origin(d.node.origin);
  std::vector<NodeId> inputs;
  for (const Term& operand : d.operands)
    inputs.push_back(builder.input(operand.dtype(), operand.shape()));
  formula.outputs = append(builder, inputs);
  return by_formula(formula, d);
}

Cotangents by_decomposition(const Differential& d) {
  return by_nodes(d, [&](GraphBuilder& builder, const std::vector<NodeId>& inputs) {
    return append_decomposition(builder, d.node, inputs, d.target);
  });
}

Term both(const Term& a, const Term& b) { return a.make(Op::logical_and, {a.id, b.id}); }
Term either(const Term& a, const Term& b) { return a.make(Op::logical_or, {a.id, b.id}); }
Term compared(Op op, const Term& a, const Term& b) { return a.make(op, {a.id, b.id}); }

namespace {

// 0 where g is 0 and the product is NaN.
Term absorbed(const Term& product, const Term& g) {
  Term is_lost = both(compared(Op::eq, g, 0), compared(Op::ne, product, product));
  return choice(is_lost, product.number(0), product);
}

}  // namespace

Term scaled(const Term& g, const Term& slope) { return absorbed(g * slope, g); }
Term divided(const Term& g, const Term& by) { return absorbed(g / by, g); }

Term summed(const Term& x, const std::vector<int>& axes) {
  return axes.empty() ? x : x.reduce(Op::sum, axes);
}
Term zeros_of(const Term& like, const Shape& shape) {
  return {like.builder, like.builder->full(like.dtype(), shape, 0)};
}
Term joined(const std::vector<Term>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  std::vector<NodeId> ids;
  for (const Term& part : parts) ids.push_back(part.id);
  return parts[0].make(Op::cat, ids, {.axes = {axis}, .sizes = {}});
}
Term sliced(const Term& x, int axis, std::int64_t start, std::int64_t end) {
  if (start == 0 && end == x.shape()[axis]) return x;
  Attributes part;
  part.axes = {axis};
  part.start = start;
  part.end = end;
  return x.make(Op::slice, {x.id}, part);
}
Term reversed(const Term& x, int axis) {
  const std::int64_t size = x.shape()[axis];
  if (size < 2) return x;
  Attributes part;
  part.axes = {axis};
  part.start = size - 1;
  part.end = -1;
  part.step = -1;
  return x.make(Op::slice, {x.id}, part);
}
Term cumulated(const Term& x, int axis, ir::ReduceKind kind) {
  Attributes attributes;
  attributes.axes = {axis};
  attributes.reduction = kind;
  return {x.builder, x.builder->append(Op::cumulate, {x.id}, attributes, x.dtype())};
}

Term places_along(const Term& of, const Shape& shape, int axis, DType dtype) {
  Attributes range;
  range.end = shape[axis];
  Term places{of.builder, of.builder->append(Op::arange, {}, range, dtype)};
  Shape aligned(shape.size(), 1);
  aligned[axis] = shape[axis];
  return places.reshape(aligned).expand(shape);
}

// As a gather of single elements from all of x, its axis last.
Term elements_at(const Term& x, const Term& index, int axis) {
  const int rank = x.shape().rank();
  Term part = x;
  for (int i = 0; i < rank; ++i)
    if (i != axis) part = sliced(part, i, 0, index.shape()[i]);
  const Shape from = part.shape(), to = index.shape();
  Term row = index.to(DType::i64);
  Term is_inside =
      both(compared(Op::ge, row, 0), compared(Op::lt, row, static_cast<double>(from[axis])));
  Term number = row.number(0);
  std::int64_t stride = 1;
  for (int i = rank; i-- > 0; stride *= from[i]) {
    Term place =
        i == axis ? choice(is_inside, row, row.number(0)) : places_along(row, to, i, DType::i64);
    number = number + place * static_cast<double>(stride);
  }
  Term table = part.reshape({element_count(from), 1});
  Term found = table.make(Op::embedding, {table.id, number.id}).reshape(to);
  return choice(is_inside, found, found.number(0));
}

}  // namespace tilewright::graph
