#include "graph/saving/saving_problem.h"

#include <algorithm>
#include <optional>

namespace tilewright::graph {
namespace {

// Products take so many multiplications in the time in which other operations go through one
// element, which comes from memory.
constexpr std::int64_t products_an_element = 8;

std::int64_t count(const Node& node) { return element_count(node.shape); }

std::int64_t bytes_of(const Node& node) {
  std::int64_t bytes = count(node) * size_bytes(node.dtype);
  if (info(node.op).kind == Kind::control || info(node.op).kind == Kind::custom) return bytes;
  for (const ValueType& other : node.others)
    bytes += element_count(other.shape) * size_bytes(other.dtype);
  return bytes;
}

std::int64_t cost_of_product(std::int64_t elements, std::int64_t depth) {
  return std::max<std::int64_t>(1, elements * depth / products_an_element);
}

// The work for one element, compared with a sum of two numbers.
std::int64_t cost_of_element(const Node& node) {
  return std::max<std::int64_t>(1, ir::info(*info(node.op).tile_op).cost);
}

// In operations on single elements.
std::int64_t cost_of(const Graph& graph, const Node& node) {
  const auto operand = [&](std::size_t i) -> const Node& { return graph.node(node.operands[i]); };
  // A product has two operands, and attention, which is two products, has three or more.
  const std::int64_t products = node.operands.size() > 2 ? 2 : 1;
  switch (info(node.op).kind) {
    case Kind::pointwise: return count(node) * cost_of_element(node);
    case Kind::reduction: return count(operand(0));
    case Kind::attention:
    case Kind::contraction: return cost_of_product(products * count(node), operand(1).shape[-2]);
    case Kind::convolution:
      return cost_of_product(count(node),
                             count(operand(1)) / std::max<std::int64_t>(1, operand(1).shape[0]));
    case Kind::grouped_product: {
      const std::int64_t shares = operand(1).shape.rank() == 2 ? operand(2).shape[0] : 1;
      return cost_of_product(count(node), operand(1).shape[-2] / shares);
    }
    case Kind::accumulation: return 4 * count(operand(2)) + count(node);
    case Kind::ordering: return 32 * count(node);
    case Kind::cumulation: return 4 * count(node);
    case Kind::gather:
    case Kind::scatter:
    case Kind::concat: return count(node);
    case Kind::view:
    case Kind::input:
    case Kind::constant:
    case Kind::projection:
    case Kind::control:
    case Kind::custom:
    case Kind::composite: return 0;
  }
  __builtin_unreachable();
}

bool is_there(const Node& node) {
  const Kind kind = info(node.op).kind;
  return kind == Kind::input || kind == Kind::constant;
}

// Nodes of the derivative, and those that depend on one.
std::vector<bool> behind_derivative(const Graph& graph) {
  std::vector<bool> result;
  for (const Node& node : graph.nodes)
    result.push_back(node.op != Op::input &&
                     (node.origin.purpose != Purpose::function ||
                      std::ranges::any_of(node.operands, [&](NodeId id) { return result[id]; })));
  return result;
}

// Values of the function that the derivative reads. An optimizer, which reads values too, is no
// part of it.
std::vector<bool> read_by_derivative(const Graph& graph, const std::vector<bool>& is_behind) {
  std::vector<bool> result(graph.nodes.size());
  for (const Node& node : graph.nodes)
    if (node.origin.purpose != Purpose::function)
      for (NodeId operand : node.operands)
        result[operand] = !is_behind[operand] && !is_there(graph.node(operand));
  return result;
}

}  // namespace

bool may_be_again(const Graph& graph, const Node& node) {
  switch (info(node.op).kind) {
    case Kind::pointwise:
    case Kind::view:
    case Kind::reduction:
    case Kind::contraction:
    case Kind::gather:
    case Kind::scatter:
    case Kind::accumulation:
    case Kind::concat:
    case Kind::attention:
    case Kind::convolution:
    case Kind::grouped_product:
    case Kind::ordering:
    case Kind::cumulation: return true;
    case Kind::projection: return may_be_again(graph, graph.node(node.operands[0]));
    case Kind::input:
    case Kind::constant:
    case Kind::custom:
    case Kind::control:
    case Kind::composite: return false;
  }
  __builtin_unreachable();
}

SavingProblem saving_problem(const Graph& graph) {
  const std::vector<bool> is_needed = read_by_derivative(graph, behind_derivative(graph));
  std::vector<bool> is_candidate = is_needed;
  for (auto id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;)
    if (is_candidate[id] && may_be_again(graph, graph.node(id)))
      for (NodeId operand : graph.node(id).operands)
        if (!is_there(graph.node(operand))) is_candidate[operand] = true;
  SavingProblem problem;
  std::vector<std::uint32_t> numbers(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!is_candidate[id]) continue;
    const Node& node = graph.node(id);
    numbers[id] = static_cast<std::uint32_t>(problem.size());
    const Kind kind = info(node.op).kind;
    const bool is_again = may_be_again(graph, node);
    const bool is_part = kind == Kind::view || (kind == Kind::projection && is_again);
    SavingCandidate value{
        .node = id, .may_be_saved = !is_part, .may_be_again = is_again, .is_needed = is_needed[id]};
    if (value.may_be_saved) value.bytes = bytes_of(node);
    if (value.may_be_again) {
      value.cost = cost_of(graph, node);
      for (NodeId operand : node.operands)
        if (is_candidate[operand]) value.operands.push_back(numbers[operand]);
    }
    problem.push_back(std::move(value));
  }
  return problem;
}

}  // namespace tilewright::graph
