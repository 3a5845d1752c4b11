// Values that follow from frozen weights, computed once and shared by all functions that read them.
//
// Which they are says passes/frozen_part.h. They live as long as a function that has them. The
// weights that they were computed from are read-only (Buffer::forbid_writes): writing one through a
// tensor is an Error from then on.
#pragma once

#include <functional>
#include <vector>

#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class FrozenValues {
 public:
  using WeightOf = std::function<const Tensor&(std::size_t input)>;

  FrozenValues() = default;  // none
  // Takes what follows from inputs that `options` says are frozen out of the graph, which gets
  // these values as inputs behind its others, and says so in `options`, those of its plan. None,
  // where nothing is worth it. `may_be_read` says of an input whether its elements are there, in
  // the memory of the plan's device.
  FrozenValues(Graph& graph, PlanOptions& options,
               const std::function<bool(std::size_t input)>& may_be_read);

  // Computes the values of these weights, or finds them.
  void bind(const WeightOf& weight_of);
  const std::vector<Tensor>& tensors() const { return tensors_; }  // in the order of those inputs
  void use(std::vector<Tensor> tensors) { tensors_ = std::move(tensors); }  // of a former `bind`
  const std::vector<std::size_t>& weights() const { return from_; }  // inputs that they follow from
  const Graph& graph() const { return values_; }                     // computes them

 private:
  std::vector<Tensor> computed(const std::vector<void*>& addresses) const;

  Graph values_;
  std::vector<std::size_t> from_;  // of its inputs, which one of the function's graph each is
  PlanOptions options_;
  Hash key_;
  mutable std::shared_ptr<const Plan> plan_;  // once something was computed
  std::vector<Tensor> tensors_;
};

// True if some function has values that were computed from this memory.
bool has_values_of(const Buffer& weight);

}  // namespace tilewright::graph
