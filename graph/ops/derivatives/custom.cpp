// Derivatives of custom ops and of functions of the library: the rule of their definition, else
// that of the formula they are made of.
#include "graph/custom/definition.h"
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

Cotangents by_rule(const Differential& d) {
  Cotangents all(d.operands.size());
  const std::vector<std::optional<NodeId>> given = d.node.attributes.custom->derivative(d);
  for (std::size_t i = 0; i < given.size() && i < all.size(); ++i)
    if (given[i]) all[i] = Term{&d.builder(), *given[i]};
  return all;
}

}  // namespace

Cotangents derivative(The<Op::custom>, const Differential& d) {
  if (d.node.attributes.custom->derivative) return by_rule(d);
  d.raise(
      "has no derivative: it is computed by a kernel or by C++; give it a rule "
      "(CustomOptions::derivative), or use stop_gradient where none is wanted");
}

// Composites that it is made of keep their own rules.
Cotangents derivative(The<Op::custom_formula>, const Differential& d) {
  const CustomDefinition& definition = *d.node.attributes.custom;
  if (definition.derivative) return by_rule(d);
  if (!definition.composites) return by_decomposition(d);
  return by_nodes(d, [&](GraphBuilder& builder, const std::vector<NodeId>& inputs) {
    return definition.composites(builder, inputs, d.target);
  });
}

}  // namespace tilewright::graph
