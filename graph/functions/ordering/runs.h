// Runs of equal elements, under PyTorch's names: what is unique, and what occurs most often.
//
// How many elements are unique is data, which the host reads: what is one graph ends there. Misuse
// raises `Error`; safe to call from several threads.
#pragma once

#include <optional>
#include <source_location>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct UniqueResult {
  Tensor values;
  Tensor inverse;  // i64: the number of each element, or slice, among the values
  Tensor counts;   // i64: how many there are of each
};
// One of neighbours that are equal: elements in row-major order, whose inverse has x's shape, or
// slices along an axis.
UniqueResult unique_consecutive(const TensorOperand& x, std::optional<int> axis = {});
// All elements that differ, in ascending order; or all slices along an axis, ordered by their first
// elements that differ. Each NaN differs from all others and comes last.
UniqueResult unique(const TensorOperand& x, std::optional<int> axis = {});

// The least of the elements that occur most often along an axis, and the last place of it, i64.
std::pair<Tensor, Tensor> mode(const TensorOperand& x, int axis = -1, bool keep_dims = false);

}  // namespace tilewright
