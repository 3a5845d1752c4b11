// Checks that the indices that a compiled function uses are in range (Options::index_checks): its
// programs do not check, they read zeros from outside and write nothing there.
//
// Indices that are an input of the graph, or a view of one, and lie in the host's memory are
// looked at before a call, which costs a comparison each. Others are known when the call is over:
// the graph gets two more outputs for each of them, its least and its greatest element. With
// `repeat` the last time is checked.
#pragma once

#include <functional>
#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"
#include "graph/tensor/checks/index_checks.h"
#include "graph/tensor/checks/index_sites.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class RowChecks {
 public:
  RowChecks() = default;
  // The checks of a captured graph, before the passes; takes its index_checks, and adds the outputs
  // that `wanted` asks for. `lies_on_host[i]` says whether Graph::inputs[i] does; the graph is
  // compiled for the target.
  RowChecks(Graph& captured, IndexChecks wanted, std::vector<bool> lies_on_host,
            const dsl::Target& target);
  // The same for what is seen when the passes have run.
  void add_primitive(Graph& graph);

  // Raise `Error` that names the operation and its line.
  void before(const std::function<const Tensor&(std::size_t)>& input) const;
  void after(std::vector<Tensor>& outputs) const;  // takes those that were added away
  bool adds_outputs() const { return !computed_.empty(); }
  const std::vector<IndexSites::Known>& known() const { return known_; }  // looked at before a call
  // The range of each two of the outputs that were added, behind the graph's own.
  const std::vector<IndexRange>& computed() const { return computed_; }

 private:
  void take(Graph& graph, IndexSites sites);

  IndexChecks wanted_ = IndexChecks::none;
  std::vector<bool> lies_on_host_;
  std::vector<std::source_location> noted_;
  std::vector<IndexSites::Known> known_;
  std::vector<IndexRange> computed_;  // of each two of the outputs that were added
};

}  // namespace tilewright::graph
