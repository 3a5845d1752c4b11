#include "graph/compile/segments/segment_numbers.h"

#include <utility>

#include "dsl/ir/function.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

std::vector<RecordedNumber> numbers_of(const Graph& graph) {
  std::vector<RecordedNumber> result;
  for (const Node& node : graph.nodes)
    if (node.op == Op::full) result.push_back(RecordedNumber::of(node));
  return result;
}

Graph with_inputs(Graph graph, const std::vector<bool>& varies) {
  auto number = varies.begin();
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    Node& node = graph.nodes[id];
    if (node.op != Op::full || !*number++) continue;
    node.op = node.origin.op = Op::input;
    node.attributes = {.axes = {}, .sizes = node.shape};
    graph.inputs.push_back(id);
    Strides strides(node.shape.size(), 0);
    graph.input_strides.push_back(is_row_major(node.shape, strides) ? Strides{} : strides);
  }
  return graph;
}

void write_number(const Tensor& to, const RecordedNumber& number) {
  Node full{.op = Op::full,
            .operands = {},
            .dtype = to.dtype(),
            .shape = {},
            .attributes = {},
            .where = {}};
  full.attributes.number = number.number;
  full.attributes.start = number.start;
  const ir::Scalar value = value_of_full(full);
  dispatch(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T& place = *static_cast<T*>(address_of(*to.body()));
    if constexpr (!std::is_arithmetic_v<T>)
      place = T(static_cast<float>(value.floating));
    else if constexpr (std::is_integral_v<T>)
      place = static_cast<T>(value.integer);
    else
      place = static_cast<T>(value.floating);
  });
}

std::vector<Tensor> tensors_of_numbers(const Graph& graph, const std::vector<bool>& varies) {
  std::vector<Tensor> result;
  auto number = varies.begin();
  for (const Node& node : graph.nodes)
    if (node.op == Op::full && *number++)
      result.push_back(make_tensor(node.dtype, {node.shape, Strides(node.shape.size(), 0), 0},
                                   Buffer::allocate(size_bytes(node.dtype))));
  return result;
}

}  // namespace tilewright::graph
