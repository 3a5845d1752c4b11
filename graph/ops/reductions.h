// Statistics that ops of other families are made of: means and variances, as terms of a
// decomposition and as numbers of a meaning.
#pragma once

#include "graph/ir/index_space.h"
#include "graph/ops/family.h"

namespace tilewright::graph {

// How an op of kind reduction joins two elements.
ir::ReduceKind kind_of_reduction(Op op);

// The mean over the axes, which become 1.
Term average(const Term& x, const std::vector<int>& axes);

// Sums f(element, position of the result) over the elements that share an element of `to`.
template <typename F>
std::vector<double> sums(const HostTensor& x, const Shape& to, F f) {
  std::vector<double> totals(static_cast<std::size_t>(element_count(to)));
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(to, index));
    totals[at] += f(x.number(i), at);
  });
  return totals;
}
// For each element of `to`, of the elements that share it; variances are by their number.
std::vector<double> means(const HostTensor& x, const Shape& to);
std::vector<double> variances(const HostTensor& x, const Shape& to,
                              const std::vector<double>& mean);

}  // namespace tilewright::graph
