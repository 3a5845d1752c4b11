// The graph of a function and of the gradients of its inputs or of the tangents of its outputs,
// which rules of control flow and derivatives as nodes are made of. Apart from the rules, so that
// users of it see none; defined in graph/derivatives.
#pragma once

#include <cstddef>
#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"

namespace tilewright::graph {

// The graph of `body` and of the gradients of its inputs of these numbers. Its inputs are those of
// the body, then a cotangent for each of its outputs of these numbers, which are floating; its
// outputs are the body's, then the gradients, in the types of the inputs.
struct GradientRequest {
  std::vector<std::size_t> inputs, outputs;
};
Graph gradient_graph(const Graph& body, const GradientRequest& request, const dsl::Target& target);

// The same in two graphs, so that the cotangents may come later. `forward` has the inputs of the
// body, and gives its outputs and then the values that are saved; `backward` takes the inputs of
// the body of these numbers, the saved values and the cotangents, and gives the gradients.
struct SplitGradient {
  Graph forward, backward;
  std::vector<std::size_t> inputs;
};
SplitGradient split_gradient(const Graph& body, const GradientRequest& request,
                             const dsl::Target& target);

// The graph of `body` and of the derivatives of its outputs of these numbers in the direction that
// tangents of its inputs of these numbers give. Its inputs are those of the body, then the
// tangents; its outputs are the body's, then the derivatives, in the types of the outputs.
Graph tangent_graph(const Graph& body, const GradientRequest& request, const dsl::Target& target);

// While an object of this class lives, captures on this thread record functions with a rule for
// their derivative as single nodes with it (graph/tensor/ruled_functions.h).
class CapturesForDerivatives {
 public:
  CapturesForDerivatives() { ++depth_; }
  ~CapturesForDerivatives() { --depth_; }
  CapturesForDerivatives(const CapturesForDerivatives&) = delete;
  CapturesForDerivatives& operator=(const CapturesForDerivatives&) = delete;
  static bool is_active() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace tilewright::graph
