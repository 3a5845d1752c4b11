#include "graph/ir/evaluate.h"

#include "dsl/ir/immediates.h"
#include "graph/ir/strided_view.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

HostTensor::HostTensor(DType d, Shape s) : dtype(d), shape(std::move(s)) {
  auto size = static_cast<std::size_t>(element_count(shape));
  if (is_floating(dtype))
    floating.resize(size);
  else
    integer.resize(size);
}

ir::Scalar HostTensor::get(std::int64_t i) const {
  ir::Scalar value;
  value.dtype = dtype;
  if (is_floating(dtype))
    value.floating = floating[static_cast<std::size_t>(i)];
  else
    value.integer = integer[static_cast<std::size_t>(i)];
  return value;
}
void HostTensor::set(std::int64_t i, const ir::Scalar& value) {
  if (is_floating(dtype))
    floating[static_cast<std::size_t>(i)] = value.floating;
  else
    integer[static_cast<std::size_t>(i)] = value.integer;
}
double HostTensor::number(std::int64_t i) const {
  auto at = static_cast<std::size_t>(i);
  return is_floating(dtype) ? floating[at] : static_cast<double>(integer[at]);
}
void HostTensor::set_number(std::int64_t i, double value) {
  if (is_floating(dtype))
    floating[static_cast<std::size_t>(i)] = value;
  else
    set(i, ir::Scalar::of(dtype, value));
}

void round_to(HostTensor& tensor, DType dtype) {
  tensor.dtype = dtype;
  if (!is_floating(dtype) || dtype == DType::f64) return;
  for (double& x : tensor.floating) x = ir::Scalar::of(dtype, x).floating;
}

std::vector<std::int64_t> source_elements(const Graph& graph, NodeId view) {
  const Node& node = graph.node(view);
  auto viewed = view_of(node.op, node.attributes, row_major(graph.node(node.operands[0]).shape));
  check(viewed.has_value(), "a row-major value has a view that is not strided");
  return element_offsets(*viewed);
}

std::vector<HostTensor> evaluate_nodes(const Graph& graph, std::span<const HostTensor> inputs,
                                       Rounding rounding) {
  require(inputs.size() == graph.inputs.size(), "[evaluate] ", inputs.size(),
          " inputs; the graph has ", graph.inputs.size());
  std::vector<HostTensor> values(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = graph.node(graph.inputs[i]);
    require(inputs[i].dtype == node.dtype && inputs[i].shape == node.shape, "[evaluate] input ", i,
            " is ", inputs[i].dtype, " ", inputs[i].shape, "; it must be ", node.dtype, " ",
            node.shape);
    values[graph.inputs[i]] = inputs[i];
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<const HostTensor*> operands;
    for (NodeId operand : node.operands) operands.push_back(&values[operand]);
    values[id] = evaluate_node(graph, id, operands, rounding);
  }
  return values;
}

Evaluation evaluate(const Graph& graph, std::span<const HostTensor> inputs, Rounding rounding) {
  std::vector<HostTensor> values = evaluate_nodes(graph, inputs, rounding);
  Evaluation result;
  auto own_value = [&](NodeId id) {
    HostTensor value = values[id];
    value.others.clear();
    return value;
  };
  for (NodeId id : graph.outputs) result.outputs.push_back(own_value(id));
  for (const Mutation& m : graph.mutations) result.mutated.push_back(own_value(m.value));
  return result;
}

}  // namespace tilewright::graph
