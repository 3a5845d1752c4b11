// What masks of attention mean by their numbers.
#pragma once

#include <optional>

#include "graph/ir/ir.h"

namespace tilewright::graph {

// What is as low is as good as minus infinity where any score is higher: its weight is exactly 0.
inline constexpr double lowest_score = -1e30;

// What each element is, of floats that are one number everywhere.
inline std::optional<double> number_of(const Graph& graph, NodeId id) {
  while (info(graph.node(id).op).kind == Kind::view) id = graph.node(id).operands[0];
  const Node& node = graph.node(id);
  if (node.op != Op::full || !is_floating(node.dtype)) return std::nullopt;
  return node.attributes.number;
}

}  // namespace tilewright::graph
