// Gradients against differences of the function itself: both in f64 by the interpreter, so that
// neither the rounding of the dtypes nor the generated code has a part in it. A difference between
// the two comes from a rule of a derivative. Apart from the sweeps, which know no values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dsl/target/target.h"
#include "graph/ir/evaluate.h"
#include "graph/ops/derivatives/gradient_graph.h"

namespace tilewright::graph {

struct GradientMismatch {
  std::size_t input;      // of the graph, along which it was moved
  std::string direction;  // the first elements
  double by_gradient, by_differences;
  std::string cause;  // the op whose rule alone differs, with its line; empty: no single one
};

// Moves each wanted input by itself in a direction that follows from the seed, and compares the
// derivative of the sum of all outputs times random weights. `tolerance` is relative to the sizes
// of the parts. Where differences do not settle, as at a kink, nothing is compared.
struct GradientCheck {
  std::uint64_t seed = 0;
  double tolerance = 1e-6;
};
std::optional<GradientMismatch> gradient_mismatch(const Graph& graph,
                                                  const GradientRequest& request,
                                                  std::span<const HostTensor> inputs,
                                                  const dsl::Target& target,
                                                  const GradientCheck& check);

}  // namespace tilewright::graph
