// How control flow is added to a random graph: small bodies over a floating value.
#include "tests/property/graph_generator.h"

namespace tilewright::graph {
namespace {

// tanh(a x + b y) of two values of one type, with numbers that the dice give.
NodeId mixed(GraphBuilder& body, Dice& dice, NodeId x, NodeId y) {
  const Node like = body.node(x);
  auto times = [&](NodeId id) {
    return body.append(Op::mul, {id, body.full(like.dtype, like.shape, dice.between(-1, 1))});
  };
  return body.append(Op::tanh, {body.append(Op::add, {times(x), times(y)})});
}

// A branch of two results, computed from two values; the second may be the first value unchanged.
Graph branch(Dice& dice, const ValueType& type) {
  Graph graph;
  GraphBuilder body(graph);
  NodeId x = body.input(type.dtype, type.shape), y = body.input(type.dtype, type.shape);
  graph.outputs = {mixed(body, dice, x, y), dice.chance(30) ? x : mixed(body, dice, y, x)};
  return graph;
}

// (x, y) to (f(x, y), g of that).
Graph turn(Dice& dice, const ValueType& type) {
  Graph graph;
  GraphBuilder body(graph);
  NodeId x = body.input(type.dtype, type.shape), y = body.input(type.dtype, type.shape);
  NodeId next = mixed(body, dice, x, y);
  graph.outputs = {next, dice.chance(40) ? next : mixed(body, dice, next, y)};
  return graph;
}

// (count, x): count + 1 and a mixture, as long as the count is below a number.
Graph counting(Dice& dice, const ValueType& type) {
  Graph graph;
  GraphBuilder body(graph);
  NodeId count = body.input(i64, {}), x = body.input(type.dtype, type.shape);
  NodeId next = body.append(Op::add, {count, body.full(i64, {}, 1)});
  graph.outputs = {next, mixed(body, dice, x, x)};
  return graph;
}
Graph is_below(const ValueType& type, std::int64_t most) {
  Graph graph;
  GraphBuilder body(graph);
  NodeId count = body.input(i64, {});
  body.input(type.dtype, type.shape);
  graph.outputs = {body.append(Op::lt, {count, body.full(i64, {}, static_cast<double>(most))})};
  return graph;
}

}  // namespace

// Bodies have sizes of their own, so graphs of several sizes have none.
void GraphGenerator::grow_control(Op op) {
  if (has_names_) return;
  NodeId x = floating_value(op == Op::scan ? 1 : 0);
  if (is_float8(node(x).dtype)) return;
  const ValueType type{node(x).dtype, node(x).shape};
  Attributes attributes;
  std::vector<NodeId> operands;
  if (op == Op::cond) {
    operands = {input(DType::boolean, {}, 0, 2), x, partner(x)};
    attributes.bodies = Bodies({branch(dice_, type), branch(dice_, type)});
  } else if (op == Op::while_loop) {
    operands = {input(i64, {}, 0, 3), x};
    attributes.bodies = Bodies({is_below(type, 1 + dice_.below(4)), counting(dice_, type)});
    attributes.carried = 2;
  } else {
    const ValueType slice{type.dtype, Shape(type.shape.begin() + 1, type.shape.end())};
    operands = {input(slice.dtype, slice.shape), x};
    attributes.bodies = Bodies({turn(dice_, slice)});
    attributes.carried = attributes.sliced = 1;
    attributes.end = type.shape[0];
    attributes.descending = dice_.chance(40);
  }
  if (auto made = add(op, operands, attributes)) add_results(*made);
}

}  // namespace tilewright::graph
