#include "graph/derivatives/bounded_loops.h"

#include <algorithm>

#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {
namespace {

// The node behind views and casts that keep the one integer that it is.
NodeId seen_through(const Graph& graph, NodeId id) {
  while (true) {
    const Node& node = graph.node(id);
    const bool is_cast = node.op == Op::to && !is_floating(node.dtype);
    if (node.op != Op::reshape && node.op != Op::expand && !is_cast) return id;
    id = node.operands[0];
  }
}
std::optional<std::int64_t> constant_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(seen_through(graph, id));
  if (node.op != Op::full || is_floating(node.dtype)) return std::nullopt;
  return value_of_full(node).integer;
}
std::optional<std::size_t> input_at(const Graph& graph, NodeId id) {
  const auto found = std::ranges::find(graph.inputs, seen_through(graph, id));
  if (found == graph.inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - graph.inputs.begin());
}

// By how much a body's output is greater than the input of that number.
std::optional<std::int64_t> growth(const Graph& body, std::size_t i) {
  const Node& next = body.node(seen_through(body, body.outputs[i]));
  if (next.op != Op::add || is_floating(next.dtype)) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k)
    if (input_at(body, next.operands[k]) == i) return constant_at(body, next.operands[1 - k]);
  return std::nullopt;
}

// The turns after which this comparison of the condition is false.
std::optional<std::int64_t> turns_until(const Graph& graph, const Node& loop,
                                        const Node& comparison) {
  const Graph& condition = loop.attributes.bodies[0];
  const bool is_less = comparison.op == Op::lt || comparison.op == Op::le;
  const bool is_greater = comparison.op == Op::gt || comparison.op == Op::ge;
  if (!is_less && !is_greater) return std::nullopt;
  const auto counter = input_at(condition, comparison.operands[is_less ? 0 : 1]);
  const auto end = constant_at(condition, comparison.operands[is_less ? 1 : 0]);
  const auto carried = static_cast<std::size_t>(loop.attributes.carried);
  if (!counter || !end || *counter >= carried) return std::nullopt;
  const auto start = constant_at(graph, loop.operands[*counter]);
  const auto step = growth(loop.attributes.bodies[1], *counter);
  if (!start || !step || *step <= 0) return std::nullopt;
  const bool is_inclusive = comparison.op == Op::le || comparison.op == Op::ge;
  const std::int64_t distance = *end - *start + (is_inclusive ? 1 : 0);
  return (distance + *step - 1) / *step;
}

std::optional<std::int64_t> most_turns(const Graph& graph, const Node& loop, NodeId condition) {
  const Graph& body = loop.attributes.bodies[0];
  const Node& node = body.node(seen_through(body, condition));
  if (node.op != Op::logical_and) return turns_until(graph, loop, node);
  const auto a = most_turns(graph, loop, node.operands[0]);
  const auto b = most_turns(graph, loop, node.operands[1]);
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// A turn that keeps the carried values once the condition is false.
Graph masked_turn(const Graph& graph, const Node& loop) {
  const Bodies& bodies = loop.attributes.bodies;
  Graph turn;
  GraphBuilder builder(turn);
  builder.set_location(loop.where);
  std::vector<Term> inputs;
  for (NodeId operand : loop.operands) {
    const Node& node = graph.node(operand);
    inputs.push_back({&builder, builder.input(node.dtype, node.shape)});
  }
  const Term goes_on = spliced(bodies[0], builder, inputs)[0];
  const std::vector<Term> next = spliced(bodies[1], builder, inputs);
  for (std::size_t i = 0; i < next.size(); ++i) {
    const Shape shape = next[i].shape();
    const Term mask = goes_on.reshape(Shape(shape.size(), 1)).expand(shape);
    turn.outputs.push_back(choice(mask, next[i], inputs[i]).id);
  }
  return turn;
}

}  // namespace

std::optional<Attributes> as_scan(const Graph& graph, const Node& loop) {
  const Graph& condition = loop.attributes.bodies[0];
  const auto turns = most_turns(graph, loop, condition.outputs[0]);
  if (!turns) return std::nullopt;
  Attributes scan;
  scan.bodies = Bodies({masked_turn(graph, loop)});
  scan.carried = loop.attributes.carried;
  scan.end = std::max<std::int64_t>(1, *turns);
  return scan;
}

}  // namespace tilewright::graph
