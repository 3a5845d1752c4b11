#include "graph/compile/captures/captured_function.h"

#include <utility>

#include "graph/custom/definition.h"
#include "graph/tensor/handle_changes.h"

namespace tilewright::graph {

bool ReadMemory::look() {
  const std::uint64_t now = handle_changes().count();
  const bool may_concern = handle_changes().concern(changes_, memory_);
  changes_ = now;
  return may_concern;
}

CapturedFunction captured_function(Captured captured, CapturedResults results,
                                   const std::vector<Tensor>& arguments, IndexChecks checks,
                                   const dsl::Target& target, std::uint64_t changes,
                                   bool keeps_recorded, bool sizes_vary) {
  CapturedFunction function;
  for (const Node& node : captured.graph.nodes)
    if (const CustomReference& custom = node.attributes.custom;
        custom.is_defined() && custom->gradient != nullptr)
      function.gradients.push_back({custom, node.where});
  if (keeps_recorded) function.recorded = captured.graph;
  leave_views_out(captured.graph, results.origins);
  std::vector<Tensor> inputs = arguments;
  inputs.insert(inputs.end(), captured.captured.begin(), captured.captured.end());
  function.checked = checked_graph(std::move(captured.graph), checks, inputs, target, sizes_vary);
  function.tensors = std::move(captured.captured);
  function.read = {std::move(captured.read), changes};
  function.guards = std::move(captured.guards);
  function.results = std::move(results);
  function.results.logs = std::move(captured.logs);
  return function;
}

}  // namespace tilewright::graph
