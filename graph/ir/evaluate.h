// Reference evaluation of a graph on plain host arrays: the meaning of every graph op.
//
// Slow and simple on purpose: each node is computed alone, composites by their mathematical
// definition and not through their decomposition, so that passes, fusion and generated code can be
// judged against it. In `exact_dtype` every node's result is rounded once to its dtype; in
// `double_` floating nodes are kept in double throughout, which makes it the oracle that error
// bounds are stated against.
#pragma once

#include <span>
#include <vector>

#include "dsl/ir/immediates.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

enum class Rounding : std::uint8_t { exact_dtype, double_ };

// Elements in row-major order. Floating elements are in `floating`, integers and booleans in
// `integer`; the other list is empty. The value of a node with several results has those from 1 on
// in `others`.
struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<double> floating;
  std::vector<std::int64_t> integer;
  std::vector<HostTensor> others;

  HostTensor() = default;
  HostTensor(DType dtype, Shape shape);  // zeros
  std::int64_t count() const { return element_count(shape); }
  ir::Scalar get(std::int64_t i) const;
  void set(std::int64_t i, const ir::Scalar& value);
  double number(std::int64_t i) const;
  void set_number(std::int64_t i, double value);  // as it is, no rounding of floating values
};

// Rounds each floating element to `dtype` and calls the tensor so.
void round_to(HostTensor& tensor, DType dtype);

struct Evaluation {
  std::vector<HostTensor> outputs;
  std::vector<HostTensor> mutated;  // new values, in the order of Graph::mutations
};
// `inputs` are as Graph::inputs says, row-major. Raises `Error` where one has another type.
Evaluation evaluate(const Graph& graph, std::span<const HostTensor> inputs, Rounding rounding);
// The value of every node. In `double_`, floating values carry the node's dtype, unrounded.
std::vector<HostTensor> evaluate_nodes(const Graph& graph, std::span<const HostTensor> inputs,
                                       Rounding rounding);

// The value of one node, which is not an input, from its operands' values.
HostTensor evaluate_node(const Graph& graph, NodeId id,
                         const std::vector<const HostTensor*>& operands, Rounding rounding);

// For each element of a view node's result, the element of its operand that it is. Constant with
// respect to values, which is why rounding errors and shapes can be followed through it too.
std::vector<std::int64_t> source_elements(const Graph& graph, NodeId view);

}  // namespace tilewright::graph
