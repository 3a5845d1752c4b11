// Values that follow from frozen weights, computed once and shared by all functions that read them.
//
// Which they are says passes/frozen_part.h. They live as long as a function that has them. The
// weights that they were computed from are frozen (Buffer::freeze): writing one through a tensor is
// an Error from then on.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// What computes them. Thread safe.
class FrozenValues {
 public:
  // `from[i]` says which input of the function's graph input i of `values` is; `options` are those
  // of the function's plan.
  FrozenValues(Graph values, std::vector<std::size_t> from, const PlanOptions& options);

  // Of these weights, which lie in the memory of the plan's device.
  std::vector<Tensor> of(const std::function<const Tensor&(std::size_t input)>& tensor_of) const;
  const Graph& graph() const { return values_; }

 private:
  std::vector<Tensor> computed(const std::vector<void*>& addresses) const;

  Graph values_;
  std::vector<std::size_t> from_;
  PlanOptions options_;
  Hash key_;
};

}  // namespace tilewright::graph
