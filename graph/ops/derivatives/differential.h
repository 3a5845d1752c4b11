// The rules of derivatives: for each op, the cotangents of its operands from those of its results.
//
//   Cotangents derivative(The<Op::exp>, const Differential& d) {
//     return {scaled(d.cotangent(), d.result())};
//   }
//
// A rule is declared here for every op of the table, so that an op without one does not link. Rules
// are written in terms of nodes, as decompositions are, and give nodes that have rules themselves:
// derivatives of any order follow. A composite has a rule of its own where PyTorch's meaning at
// ties or the numerical stability asks for one; the others are differentiated by their
// decomposition (`by_decomposition`). The sweep over a graph that applies the rules is in
// graph/derivatives, which defines `gradient_graph` and `by_formula`.
//
// Rules see floating operands and results as they are, and compute 16-bit ones in f32 (`operand`,
// `result`, `cotangent`); the sweep rounds a sum of cotangents once, to the dtype of its value.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/ops/derivatives/gradient_graph.h"
#include "graph/ops/family.h"

namespace tilewright::graph {

// One cotangent for each operand; absent: nothing flows to it.
using Cotangents = std::vector<std::optional<Term>>;

// A node that is differentiated, in the graph that holds it and its derivative.
struct Differential {
  const Node& node;
  const dsl::Target& target;
  std::vector<Term> operands;
  std::vector<Term> results;                    // its own value, then its other results
  std::vector<std::optional<Term>> cotangents;  // of the results; one at least is present
  std::vector<bool> wanted;                     // by operand: its cotangent is used

  bool wants(std::size_t operand) const { return operand < wanted.size() && wanted[operand]; }
  GraphBuilder& builder() const { return *operands[0].builder; }
  // Values in the dtype that rules compute in: f32 for floats of fewer bits.
  Term operand(std::size_t i) const { return wide(operands[i]); }
  Term result() const { return wide(results[0]); }
  // The cotangent of a result, zeros if none flows to it.
  Term cotangent(std::size_t result = 0) const;
  static Term wide(const Term& x) { return x.to(accumulator(x.dtype())); }
  // No cotangent for any operand.
  Cotangents none() const { return Cotangents(operands.size()); }
  // Raises the `Error` that this node has no derivative, with its line.
  [[noreturn]] void raise(std::string_view reason) const;
};

#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  Cotangents derivative(The<Op::name>, const Differential& d);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP

// Appends the nodes of `graph` with these for its inputs; gives its outputs.
std::vector<Term> spliced(const Graph& graph, GraphBuilder& builder,
                          const std::vector<Term>& inputs);
// Appends a node of these operands, of which there is one at least; gives all of its results.
std::vector<Term> appended(Op op, const std::vector<Term>& operands, const Attributes& attributes);
// A scan whose last results are its carried values before each turn and the products that each turn
// forms; its rule needs them.
Attributes with_saved_values(const Attributes& scan);

// Differentiates `formula` in place of the node: its inputs are the node's operands, its outputs
// the node's results.
Cotangents by_formula(const Graph& formula, const Differential& d);
// The same with the nodes that `append` makes of the inputs; it gives the results.
using AppendNodes =
    std::function<std::vector<NodeId>(GraphBuilder& builder, const std::vector<NodeId>& inputs)>;
Cotangents by_nodes(const Differential& d, const AppendNodes& append);
// With those of the composite's decomposition.
Cotangents by_decomposition(const Differential& d);

// g * slope, and 0 where g is 0 although the slope is infinite or NaN: so nothing comes from the
// side of a choice that was not taken. It is the same function of g wherever the slope is finite,
// so that its own derivative is right.
Term scaled(const Term& g, const Term& slope);
// g / by, in the same way.
Term divided(const Term& g, const Term& by);

Term both(const Term& a, const Term& b);    // of conditions
Term either(const Term& a, const Term& b);  // of conditions
Term compared(Op op, const Term& a, const Term& b);
Term summed(const Term& x, const std::vector<int>& axes);  // over the axes, which stay with size 1
Term zeros_of(const Term& like, const Shape& shape);
Term joined(const std::vector<Term>& parts, int axis);
Term sliced(const Term& x, int axis, std::int64_t start, std::int64_t end);
Term reversed(const Term& x, int axis);
Term cumulated(const Term& x, int axis, ir::ReduceKind kind);
// 0, 1, .. along an axis of a tensor of this shape.
Term places_along(const Term& of, const Shape& shape, int axis, DType dtype);
// Elements of x at these rows of the axis: index and result have one shape, which along other axes
// is at most as long as x's. 0 where the row is outside.
Term elements_at(const Term& x, const Term& index, int axis);

}  // namespace tilewright::graph
