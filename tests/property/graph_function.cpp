#include "tests/property/graph_function.h"

#include <algorithm>
#include <cstring>

#include "graph/tensor/functional.h"
#include "graph/tensor/tensor_body.h"
#include "tests/property/host_memory.h"

namespace tilewright::graph {

std::vector<Tensor> call_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto where = std::source_location::current();
  std::vector<std::vector<Tensor>> values;  // each result of each node
  std::size_t next_input = 0;
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> operands;
    for (NodeId operand : node.operands) operands.push_back(values[operand][0]);
    if (node.op == Op::input)
      values.push_back({inputs[next_input++]});
    else if (node.op == Op::result)
      values.push_back({values[node.operands[0]][static_cast<std::size_t>(node.attributes.index)]});
    else if (node.op == Op::full)
      values.push_back({full(node.shape, node.attributes.number, node.dtype)});
    else if (!node.others.empty())
      values.push_back(apply_all(node.op, operands, node.attributes, where));
    else
      values.push_back({apply(node.op, operands, node.attributes, where, node.dtype)});
  }
  // True for outputs that show an input as it was before the write, directly or as a view.
  auto is_written = [&](NodeId id) {
    while (info(graph.node(id).op).kind == Kind::view) id = graph.node(id).operands[0];
    return std::ranges::find(graph.mutations, id, &Mutation::input) != graph.mutations.end();
  };
  std::vector<Tensor> outputs;
  for (NodeId id : graph.outputs)
    outputs.push_back(is_written(id) ? values[id][0].clone() : values[id][0]);
  for (const Mutation& mutation : graph.mutations)
    values[mutation.input][0].copy_from(values[mutation.value][0]);
  return outputs;
}

Tensor to_tensor(const HostTensor& values, const Strides& strides) {
  std::vector<std::byte> bytes = to_memory(values, strides);
  auto buffer = Buffer::allocate(static_cast<std::int64_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  StridedView view = row_major(values.shape);
  if (!strides.empty()) view.strides = strides;
  return make_tensor(values.dtype, view, buffer);
}

HostTensor to_host_tensor(const Tensor& tensor) {
  return from_memory(tensor.dtype(), tensor.shape(), tensor.const_data(), tensor.strides());
}

}  // namespace tilewright::graph
