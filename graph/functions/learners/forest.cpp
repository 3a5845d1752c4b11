#include "graph/functions/learners/forest.h"

#include <map>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

Tensor compared(const Tensor& x, BranchComparison comparison, const Tensor& value) {
  switch (comparison) {
    case BranchComparison::leq: return x <= value;
    case BranchComparison::less: return x < value;
    case BranchComparison::geq: return x >= value;
    case BranchComparison::greater: return x > value;
    case BranchComparison::equal: return x == value;
    case BranchComparison::not_equal: return x != value;
  }
  __builtin_unreachable();
}

template <typename T>
Tensor listed(const std::vector<T>& elements) {
  return graph::constant_of(elements, {std::ssize(elements)});
}
Tensor at_places(const Tensor& list, const Tensor& places) { return index(list, {places}); }

// Comparisons besides that of most nodes, each with a flag for the nodes that have it.
std::vector<std::pair<BranchComparison, Tensor>> other_comparisons(const Forest& forest) {
  std::map<BranchComparison, std::vector<std::uint8_t>> nodes;
  for (std::size_t i = 0; i < forest.comparisons.size(); ++i) {
    const BranchComparison comparison = forest.comparisons[i];
    if (comparison == forest.comparison) continue;
    auto& flags = nodes[comparison];
    flags.resize(forest.values.size());
    flags[i] = 1;
  }
  std::vector<std::pair<BranchComparison, Tensor>> others;
  for (const auto& [comparison, flags] : nodes) others.emplace_back(comparison, listed(flags));
  return others;
}

}  // namespace

Tensor forest_leaves(const TensorOperand& operand, const Forest& forest) {
  const Tensor& x = graph::tensor_of(operand, "forest");
  require(x.rank() == 2, "[forest] rows [", x.shape(), "] (at ", At{operand.where},
          "); [rows, features] is wanted");
  const std::size_t nodes = forest.values.size();
  require(forest.features.size() == nodes && forest.if_true.size() == nodes &&
              forest.if_false.size() == nodes &&
              (forest.if_missing.empty() || forest.if_missing.size() == nodes) &&
              (forest.comparisons.empty() || forest.comparisons.size() == nodes),
          "[forest] lists of ", nodes, ", ", forest.features.size(), ", ", forest.if_true.size(),
          " and ", forest.if_false.size(), " nodes (at ", At{operand.where},
          "); all must have one entry for each node");
  for (std::int64_t feature : forest.features)
    require(feature >= 0 && feature < x.size(1), "[forest] a node asks for feature ", feature,
            " of rows that have ", x.size(1), " (at ", At{operand.where},
            "); there must be one for each node");
  const Tensor features = listed(forest.features), values = listed(forest.values),
               if_true = listed(forest.if_true), if_false = listed(forest.if_false);
  const Tensor missing = forest.if_missing.empty() ? Tensor() : listed(forest.if_missing);
  const auto others = other_comparisons(forest);
  const auto roots = std::ssize(forest.roots);
  Tensor place = listed(forest.roots).reshape({1, roots}).expand({x.size(0), roots});
  for (std::int64_t level = 0; level < forest.levels; ++level) {
    const Tensor seen = gather(x, 1, at_places(features, place));
    Tensor is_true = compared(seen, forest.comparison, at_places(values, place));
    for (const auto& [comparison, nodes] : others)
      is_true = where(at_places(nodes, place) != 0,
                      compared(seen, comparison, at_places(values, place)), is_true);
    if (missing.defined())
      is_true = logical_or(is_true, logical_and(isnan(seen), at_places(missing, place) != 0));
    place = where(is_true, at_places(if_true, place), at_places(if_false, place));
  }
  return place;
}

Tensor forest_weights(const TensorOperand& x, const Forest& forest,
                      const std::vector<float>& weights, std::int64_t columns) {
  const auto nodes = std::ssize(forest.values);
  require(std::ssize(weights) == nodes * columns, "[forest] ", weights.size(), " weights of ",
          nodes, " nodes (at ", At{x.where}, "); ", columns, " for each are wanted");
  return at_places(graph::constant_of(weights, {nodes, columns}), forest_leaves(x, forest));
}

Tensor joined_trees(const TensorOperand& weights, TreeJoining joining) {
  switch (joining) {
    case TreeJoining::sum: return sum(weights, {1});
    case TreeJoining::mean: return mean(weights, {1});
    case TreeJoining::least: return amin(weights, {1});
    case TreeJoining::greatest: return amax(weights, {1});
  }
  __builtin_unreachable();
}

}  // namespace tilewright
