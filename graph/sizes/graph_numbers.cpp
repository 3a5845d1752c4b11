#include "graph/sizes/graph_numbers.h"

#include <algorithm>

namespace tilewright::graph {
namespace {

template <typename Visitor, typename Type>
void visit_type(Visitor& visitor, Type& type) {
  auto& [dtype, shape, others] = type;
  visitor.form(dtype);
  visit(visitor, shape);
  visitor.form(others.size());
  for (auto& other : others) visit_type(visitor, other);
}

template <typename Visitor, typename N>
void visit_node(Visitor& visitor, N& node) {
  auto& [op, operands, dtype, shape, attributes, where, origin, others] = node;
  visitor.form(op);
  visitor.form(operands);
  visitor.form(dtype);
  visit(visitor, shape);
  visit(visitor, attributes, info(op).reads);
  visit_line(visitor, where);
  const auto& [origin_op, origin_node, mark, custom, purpose] = origin;
  visitor.form(origin_op);
  visitor.form(origin_node);
  visitor.form(mark);
  if constexpr (!Visitor::writes) add_attribute(visitor.hasher(), custom);
  visitor.form(purpose);
  visitor.form(others.size());
  for (auto& other : others) visit_type(visitor, other);
}

template <typename Visitor, typename C>
void visit_check(Visitor& visitor, C& check) {
  auto& [index, range, offsets] = check;
  auto& [operation, noun, least, end, where, ignored, node] = range;
  visitor.form(index);
  visitor.form(operation);
  visitor.form(noun);
  visitor.number(least);
  visitor.number(end);
  visit_line(visitor, where);
  visitor.form(ignored.has_value());
  if (ignored) visitor.number(*ignored);
  visitor.form(node);
  visitor.form(offsets.size());
  for (auto& offset : offsets) visitor.number(offset);
}

template <typename Visitor, typename G>
void visit_graph(Visitor& visitor, G& graph) {
  auto& [nodes, inputs, outputs, mutations, input_strides, marks, index_checks] = graph;
  visitor.form(nodes.size());
  for (auto& node : nodes) visit_node(visitor, node);
  visitor.form(inputs);
  visitor.form(outputs);
  visitor.form(mutations.size());
  for (const Mutation& mutation : mutations) {
    visitor.form(mutation.input);
    visitor.form(mutation.value);
  }
  visitor.form(input_strides.size());
  for (auto& strides : input_strides) visit(visitor, strides);
  visitor.form(marks);
  visitor.form(index_checks.size());
  for (auto& check : index_checks) visit_check(visitor, check);
}

}  // namespace

void visit(NumberReader& visitor, const Graph& graph) { visit_graph(visitor, graph); }
void visit(NumberWriter& visitor, Graph& graph) { visit_graph(visitor, graph); }

bool is_made_of_numbers(const Graph& graph) {
  return std::ranges::all_of(graph.nodes, [](const Node& node) {
    const CustomReference& custom = node.attributes.custom;
    return !custom.is_defined() || custom.is_of_library();
  });
}

}  // namespace tilewright::graph
