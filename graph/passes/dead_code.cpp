#include <map>

#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (NodeId id : graph.outputs) live[id] = true;
  for (const Mutation& m : graph.mutations) live[m.value] = true;
  for (std::size_t id = graph.nodes.size(); id-- > 0;)
    if (live[id])
      for (NodeId operand : graph.nodes[id].operands) live[operand] = true;
  return live;
}

// The results of a scan that stay, by number: its own value, those that are carried, and those that
// something reads.
using KeptResults = std::map<std::size_t, std::size_t>;  // old numbers to new ones
std::map<NodeId, KeptResults> kept_results(const Graph& graph, const std::vector<bool>& live) {
  std::map<NodeId, KeptResults> kept;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (!live[id]) continue;
    if (node.op == Op::scan)
      for (std::int64_t i = 0; i == 0 || i < node.attributes.carried; ++i)
        kept[id].emplace(static_cast<std::size_t>(i), 0);
    if (node.op == Op::result && graph.node(node.operands[0]).op == Op::scan)
      kept[node.operands[0]].emplace(static_cast<std::size_t>(node.attributes.index), 0);
  }
  for (auto& [id, numbers] : kept)
    for (std::size_t next = 0; auto& [old, now] : numbers) now = next++;
  return kept;
}

Node with_results(const Node& scan, const KeptResults& kept) {
  Node node = scan;
  Graph body = scan.attributes.bodies[0];
  body.outputs.clear();
  node.others.clear();
  for (const auto& [old, now] : kept) {
    body.outputs.push_back(scan.attributes.bodies[0].outputs[old]);
    if (old > 0) node.others.push_back(scan.others[old - 1]);
  }
  node.attributes.bodies = Bodies({dead_code(body)});
  return node;
}

}  // namespace

Graph dead_code(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  const std::map<NodeId, KeptResults> kept = kept_results(graph, live);
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (!live[id] && node.op != Op::input) continue;
    if (const auto own = kept.find(id);
        own != kept.end() && own->second.size() < node.others.size() + 1) {
      Node narrow = with_results(node, own->second);
      narrow.operands = rewriter.operands_of(node);
      rewriter.replace(id, rewriter.append(std::move(narrow)));
      continue;
    }
    const NodeId copy = rewriter.copy(id);
    if (node.op != Op::result) continue;
    if (const auto whole = kept.find(node.operands[0]); whole != kept.end())
      rewriter.set_index(copy, static_cast<std::int64_t>(whole->second.at(
                                   static_cast<std::size_t>(node.attributes.index))));
  }
  return rewriter.finish();
}

}  // namespace tilewright::graph
