// A captured graph as the passes leave it, with the checks of the indices that it uses, which are
// found on both sides of the passes.
#pragma once

#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"
#include "graph/tensor/checks/row_checks.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

struct CheckedGraph {
  Graph graph;  // of primitive ops, with the outputs of checks behind its own
  RowChecks checks;
  bool is_interpolated = false;  // from graphs of other sizes (passes/interpolated_passes.h)
};
// `inputs` are those of the graph, at the call at hand; the graph is compiled for the target.
// `sizes_vary`: the same is done for graphs of other sizes.
CheckedGraph checked_graph(Graph captured, IndexChecks wanted, const std::vector<Tensor>& inputs,
                           const dsl::Target& target, bool sizes_vary);

}  // namespace tilewright::graph
