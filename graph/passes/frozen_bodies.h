// Values within bodies of control flow that follow from frozen inputs alone, taken out of them.
//
// A branch or a turn of a loop would compute them each time. They become nodes of the graph around,
// and operands of the node of control flow, so that the graph around can be split like any other
// (frozen_part.h).
#pragma once

#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

struct OpenedBodies {
  Graph graph;
  std::vector<NodeId> values;  // that were taken out, worth computing once
};

// `is_frozen` is indexed like Graph::inputs. The graph is one of primitive ops; its bodies become
// so too where they read what follows from frozen inputs.
OpenedBodies open_frozen_bodies(const Graph& graph, const std::vector<bool>& is_frozen,
                                const dsl::Target& target);

}  // namespace tilewright::graph
