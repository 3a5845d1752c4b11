// A graph of a test as a function that is differentiated, and what must hold of its derivatives.
//
// There values are doubles throughout, whatever the dtypes of the graph. Plans of gradients compute
// in the dtypes, within the error bounds of the gradients as they are written.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "graph/custom/definition.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "tests/property/plan_run.h"
#include "tests/property/random_graph.h"

namespace tilewright::graph {

// How many elements were compared, and how many of them by bounds that show errors of a hundredth.
struct ComparedElements {
  std::int64_t graphs = 0, all = 0, sharply = 0;
};

// From the floating inputs to the floating outputs. Values that are written to inputs are outputs
// too.
class DifferentiatedGraph {
 public:
  // `calls_function`: its first output also goes through a function of the user's, whose result is
  // a further output, if its dtype allows it.
  DifferentiatedGraph(RandomGraph random, std::uint64_t seed, bool calls_function = false);

  const Graph& graph() const { return graph_; }
  Graph gradient() const;  // raises Error where an op has no derivative
  // Loops of unknown length have no gradient, and rounded activations no slope.
  bool is_differentiable() const;

  // <u, J v> and <J' u, v> are the same number, but for roundings of terms that cancel.
  void expect_transposed();
  // The Hessian of the sum of outputs times cotangents: <w, H v> = <v, H w>.
  void expect_symmetric_hessian();
  // With it called as one node whose values are computed again, all bits are the same. Equal values
  // are one in both.
  void expect_same_from_checkpoint() const;
  // A plan of the gradient computes what is written, from inputs as they lie in memory.
  void expect_planned_is_meant(PlanForm form, ComparedElements& compared) const;

 private:
  using Values = std::vector<HostTensor>;

  Values given_to_gradient() const;
  Values gradients() const;
  Values direction();
  HostTensor random_like(const Node& node);
  Values last(const Values& outputs) const;
  void call_user_function();

  Graph graph_;
  std::vector<Strides> strides_;
  Values inputs_, cotangents_;
  GradientRequest request_;
  std::uint64_t seed_;
  std::mt19937_64 dice_;
};

}  // namespace tilewright::graph
