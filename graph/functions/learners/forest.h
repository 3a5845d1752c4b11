// Forests of decision trees over rows of features: each tree is descended for all rows at once, as
// many levels as the deepest has, leaves staying where they are.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// How the feature of a row is compared with a node's value.
enum class BranchComparison : std::uint8_t { leq, less, geq, greater, equal, not_equal };

// Nodes of all trees by number, a list each of one entry a node: which feature is compared with
// which value, and the nodes that follow where that is true and where it is not; of a leaf itself.
struct Forest {
  std::vector<std::int64_t> features, if_true, if_false;
  std::vector<float> values;
  std::vector<std::int64_t> if_missing = {};  // whether NaN is true; empty: nowhere
  std::vector<std::int64_t> roots;            // of the trees
  std::int64_t levels;                        // branches between a root and its furthest leaf
  BranchComparison comparison = BranchComparison::leq;
  std::vector<BranchComparison> comparisons = {};  // of each node; empty: all as above
};
// The number of the leaf that each tree gives for each row of x [rows, features]: i64 [rows,
// trees].
Tensor forest_leaves(const TensorOperand& x, const Forest& forest);
// What the leaves weigh, of a table [nodes, columns], row-major: f32 [rows, trees, columns].
Tensor forest_weights(const TensorOperand& x, const Forest& forest,
                      const std::vector<float>& weights, std::int64_t columns);

// The weights of all trees joined, [rows, columns].
enum class TreeJoining : std::uint8_t { sum, mean, least, greatest };
Tensor joined_trees(const TensorOperand& weights, TreeJoining joining);

}  // namespace tilewright
