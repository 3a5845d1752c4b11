// Calls of checkpointed functions (graph/functions/differentiating) written out for the reverse
// sweep, which has to know which nodes it computes again. Apart from the sweep, which sees one
// graph and segments of it.
#pragma once

#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// The nodes of a call, from `begin` up to `end`; calls within it are segments within this one.
struct Segment {
  NodeId begin, end;
};
struct CheckpointedGraph {
  Graph graph;
  std::vector<Segment> segments;  // an outer one before those within it
};

// `graph` has no gradients as nodes, and keeps its inputs and outputs.
CheckpointedGraph with_checkpoints(const Graph& graph, const dsl::Target& target);

}  // namespace tilewright::graph
