// One graph within another: what a formula of a custom op becomes, or a body of control flow that
// is evaluated once more.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

// Appends a node of the same op, attributes and dtype, of these operands.
NodeId append_like(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands);
NodeId append_like(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands,
                   const Attributes& attributes);

// Appends the nodes of `graph`, with these for its inputs. Gives, for each of its nodes, the one
// that stands for it.
std::vector<NodeId> splice(const Graph& graph, GraphBuilder& builder,
                           const std::vector<NodeId>& inputs);

// Changes to a copy of the graph's nodes; each may be absent.
struct SpliceHooks {
  // The mark of a node; absent: its own, and the graph's marks join those of the builder's graph.
  std::function<MarkId(NodeId id)> mark = {};
  // Takes the place of a node: appends others for it, and gives what stands for its results.
  std::function<std::optional<std::vector<NodeId>>(const Node&,
                                                   const std::vector<NodeId>& operands)>
      results = {};
};
// The same with the lines and the words of the graph's own nodes. Gives its outputs.
std::vector<NodeId> splice_with_lines(const Graph& graph, GraphBuilder& builder,
                                      const std::vector<NodeId>& inputs,
                                      const SpliceHooks& hooks = {});

}  // namespace tilewright::graph
