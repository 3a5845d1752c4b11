#include "graph/compile/captures/checked_graph.h"

#include <utility>

#include "graph/passes/interpolated_passes.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

CheckedGraph checked_graph(Graph captured, IndexChecks wanted, const std::vector<Tensor>& inputs,
                           const dsl::Target& target, bool sizes_vary) {
  std::vector<bool> lie_on_host;
  for (const Tensor& input : inputs) lie_on_host.push_back(memory_of(input) == nullptr);
  RowChecks checks(captured, wanted, std::move(lie_on_host), target);
  dump_captured(captured);
  bool is_interpolated = false;
  Graph graph = sizes_vary ? run_passes_for_sizes(captured, target, is_interpolated)
                           : run_passes(captured, {.target = target});
  checks.add_primitive(graph);
  return {std::move(graph), std::move(checks), is_interpolated};
}

}  // namespace tilewright::graph
