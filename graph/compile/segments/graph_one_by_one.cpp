#include "graph/compile/segments/graph_one_by_one.h"

#include <utility>

#include "dsl/ir/function.h"
#include "graph/tensor/functional.h"

namespace tilewright::graph {
namespace {

Tensor constant_of(const Node& full) {
  const ir::Scalar value = value_of_full(full);
  const Number number = is_floating(full.dtype) ? Number(value.floating) : Number(value.integer);
  return constant(full.dtype, full.shape, number, full.where);
}

// All results of a node that is neither an input nor a projection.
std::vector<Tensor> results_of(const Node& node, const std::vector<Tensor>& operands) {
  if (node.op == Op::full) return {constant_of(node)};
  if (info(node.op).kind == Kind::view)
    if (auto view = apply_view(node.op, operands[0], node.attributes, node.where)) return {*view};
  if (!node.others.empty()) return apply_all(node.op, operands, node.attributes, node.where);
  std::optional<DType> dtype;
  if (chooses_dtype(node.op)) dtype = node.dtype;
  return {apply(node.op, operands, node.attributes, node.where, dtype)};
}

}  // namespace

std::vector<Tensor> run_one_by_one(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<Tensor>> results(graph.nodes.size());
  auto input = inputs.begin();
  for (NodeId id : graph.inputs) results[id] = {*input++};
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<Tensor> operands;
    for (NodeId operand : node.operands) operands.push_back(results[operand][0]);
    if (info(node.op).kind == Kind::projection)
      results[id] = {results[node.operands[0]][static_cast<std::size_t>(node.attributes.index)]};
    else
      results[id] = results_of(node, operands);
  }
  // Copies, since what is written may be read through another name.
  std::vector<Tensor> outputs, written;
  for (NodeId id : graph.outputs) outputs.push_back(results[id][0].clone());
  for (const Mutation& m : graph.mutations) written.push_back(results[m.value][0].clone());
  for (std::size_t i = 0; i < written.size(); ++i)
    results[graph.mutations[i].input][0].copy_from(written[i]);
  return outputs;
}

}  // namespace tilewright::graph
