#include "graph/custom/definition.h"
#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

ValueType custom(const Application& a) {
  a.need(a.attributes.custom.is_defined(), "no definition is given; it must have one");
  return custom_type(*a.attributes.custom, a.operands, a.where);
}

}  // namespace rules

namespace {

// The value of a task, whose results are one value in memory.
HostTensor flattened(HostTensor value) {
  HostTensor all(value.dtype, flat_type({value.dtype, {value.count()}}).shape);
  std::int64_t count = value.count();
  for (const HostTensor& other : value.others) count += other.count();
  all = HostTensor(value.dtype, {count});
  std::int64_t at = 0;
  auto add = [&](const HostTensor& part) {
    for (std::int64_t i = 0; i < part.count(); ++i) all.set(at++, part.get(i));
  };
  add(value);
  for (const HostTensor& other : value.others) add(other);
  return all;
}

}  // namespace

HostTensor meaning(The<Op::custom>, const Node& node, const Operands& operands) {
  HostTensor value = custom_value(*node.attributes.custom, operands);
  bool is_flat = node.others.empty() && !value.others.empty();
  return is_flat ? flattened(std::move(value)) : value;
}

HostTensor meaning(The<Op::custom_formula>, const Node& node, const Operands& operands) {
  Graph graph;
  GraphBuilder builder(graph);
  builder.set_location(node.where);
  std::vector<HostTensor> inputs;
  for (const HostTensor* operand : operands) {
    builder.input(operand->dtype, operand->shape);
    inputs.push_back(*operand);
  }
  graph.outputs = node.attributes.custom->formula(builder, graph.inputs, dsl::host_target());
  Evaluation found = evaluate(graph, inputs, Rounding::double_);
  HostTensor value = std::move(found.outputs[0]);
  for (std::size_t i = 1; i < found.outputs.size(); ++i)
    value.others.push_back(std::move(found.outputs[i]));
  return value;
}

Term decomposition(The<Op::custom_formula>, const Composite& site) {
  std::vector<NodeId> operands;
  GraphBuilder* builder = nullptr;
  for (const Term& operand : site.operands) {
    operands.push_back(operand.id);
    builder = operand.builder;
  }
  check(builder != nullptr, "a formula has no operands");
  std::vector<NodeId> results =
      site.node.attributes.custom->formula(*builder, operands, site.target);
  Term term{builder, results[0]};
  term.others.assign(results.begin() + 1, results.end());
  return term;
}

}  // namespace tilewright::graph
