// Checks that a function still does what it did when it was captured (Options::verify_capture).
//
// A value that a captured function reads, other than tensors and guarded values, is a constant of
// its graph, and no guard sees it change: a plain captured number, the length of a list, a pointer
// to another module. Running the function over symbols again shows it: the graph is another one, or
// the same with other memory behind its inputs. The first node that differs names the user's line.
#pragma once

#include <string>
#include <vector>

#include "graph/compile/bindings/result_memory.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/calls/structure.h"
#include "graph/ir/ir.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// One run of a function over symbolic arguments. What proves that a call may be padded looks at
// such runs too (graph/ops/padding_proof.h).
struct SymbolicRun {
  Captured captured;
  TensorResults returned;  // what lies around the outputs; no tensors
  std::vector<ResultOrigin> origins;
};
// Raises `GraphBreak` where the function breaks, and whatever it raises.
SymbolicRun run_over_symbols(const TensorFunction& function, const Signature& signature);

struct CaptureView {
  const Graph& graph;                   // as it was recorded, before any pass
  const std::vector<Tensor>& captured;  // its inputs behind the arguments
  const std::string& returned;          // the form of what lies around its outputs (structure.h)
  std::size_t logs;                     // how many of the outputs it does not return but logs
};

// Raises `Error` naming the line, what is there now and what was there, and what to do.
void require_same_capture(const CaptureView& before, const CaptureView& now);

}  // namespace tilewright::graph
