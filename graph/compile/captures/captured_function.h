// The outcome of one run of a function over symbolic arguments, if the function does not break: the
// graph, the tensors and values that it depends on, and what lies around its results.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "graph/compile/bindings/result_memory.h"
#include "graph/compile/calls/structure.h"
#include "graph/compile/captures/checked_graph.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The memory of the tensors that a function has read besides its arguments, by handles that may
// stand for something else since (handle_changes.h).
class ReadMemory {
 public:
  ReadMemory() = default;
  // `changes`: of handles, when the function began.
  ReadMemory(std::vector<const Buffer*> memory, std::uint64_t changes)
      : memory_(std::move(memory)), changes_(changes) {}
  // True if a handle on it may have changed since the last look, or since the function began.
  bool look();

 private:
  std::vector<const Buffer*> memory_;
  std::uint64_t changes_ = 0;
};

// The results of a function, apart from the tensors that its graph computes.
struct CapturedResults {
  TensorResults around;  // what lies around the results; no tensors
  std::vector<ResultOrigin> origins;
  std::vector<LogCallback> logs;  // of the last outputs, which are not returned
};

// A gradient in the graph before the passes.
struct GradientSite {
  CustomReference gradient;
  std::source_location where;
};

struct CapturedFunction {
  CheckedGraph checked;
  std::optional<Graph> recorded;        // before the passes, where it is looked at later
  std::vector<GradientSite> gradients;  // in it, for reports
  std::vector<Tensor> tensors;          // inputs of the graph behind the arguments
  ReadMemory read;
  std::vector<Guard> guards;
  CapturedResults results;
  double seconds = 0;  // that it took
};
// `changes`: of handles, before the function ran. `keeps_recorded`: the graph before the passes.
// `sizes_vary`: calls of other sizes are captured too.
CapturedFunction captured_function(Captured captured, CapturedResults results,
                                   const std::vector<Tensor>& arguments, IndexChecks checks,
                                   const dsl::Target& target, std::uint64_t changes,
                                   bool keeps_recorded, bool sizes_vary);

}  // namespace tilewright::graph
