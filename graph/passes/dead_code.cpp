#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {

Graph dead_code(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (NodeId id : graph.outputs) live[id] = true;
  for (const Mutation& m : graph.mutations) live[m.value] = true;
  for (std::size_t id = graph.nodes.size(); id-- > 0;)
    if (live[id])
      for (NodeId operand : graph.nodes[id].operands) live[operand] = true;
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    if (live[id] || graph.node(id).op == Op::input) rewriter.copy(id);
  return rewriter.finish();
}

}  // namespace tilewright::graph
