// Derivatives of choices and of loops of unknown length. That of a choice is one of its bodies'.
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

// The gradients alone.
Graph gradients_of(const Graph& body, const GradientRequest& request, const dsl::Target& target) {
  Graph graph = gradient_graph(body, request, target);
  graph.outputs.erase(graph.outputs.begin(),
                      graph.outputs.begin() + static_cast<std::ptrdiff_t>(body.outputs.size()));
  return graph;
}

}  // namespace

Cotangents derivative(The<Op::cond>, const Differential& d) {
  GradientRequest request;
  std::vector<Term> operands = d.operands;
  for (std::size_t i = 1; i < d.operands.size(); ++i)
    if (d.wants(i)) request.inputs.push_back(i - 1);
  for (std::size_t i = 0; i < d.results.size(); ++i) {
    if (!d.cotangents[i]) continue;
    request.outputs.push_back(i);
    operands.push_back(*d.cotangents[i]);
  }
  Cotangents all(d.operands.size());
  if (request.inputs.empty()) return all;
  Attributes attributes;
  const Bodies& bodies = d.node.attributes.bodies;
  attributes.bodies = Bodies(
      {gradients_of(bodies[0], request, d.target), gradients_of(bodies[1], request, d.target)});
  const std::vector<Term> gradients = appended(Op::cond, operands, attributes);
  for (std::size_t i = 0; i < gradients.size(); ++i) all[request.inputs[i] + 1] = gradients[i];
  return all;
}

Cotangents derivative(The<Op::while_loop>, const Differential& d) {
  d.raise(
      "is a loop of unknown length, which has no gradient; use scan, which has a fixed number of "
      "turns, or bound them (WhileOptions::max_turns), or use stop_gradient where none is wanted");
}

}  // namespace tilewright::graph
