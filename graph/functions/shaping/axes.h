// The axes of a tensor in another order, joined, taken apart or added, under PyTorch's names.
// Results are views where the memory allows it. Axes count from the end where they are negative.
//
// Misuse raises `Error`; safe to call from several threads. (Members of Tensor: reshape, permute,
// transpose, unsqueeze, squeeze, expand.)
#pragma once

#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The axes `from` become the axes `to` of the result, one by one; the others keep their order.
Tensor movedim(const Tensor& x, const std::vector<int>& from, const std::vector<int>& to,
               std::source_location w = std::source_location::current());
Tensor movedim(const Tensor& x, int from, int to,
               std::source_location w = std::source_location::current());
Tensor swapaxes(const Tensor& x, int a, int b,
                std::source_location w = std::source_location::current());
// The axes from `first` to `last` as one; ravel: all of them.
Tensor flatten(const Tensor& x, int first = 0, int last = -1,
               std::source_location w = std::source_location::current());
Tensor ravel(const Tensor& x, std::source_location w = std::source_location::current());
// An axis as several of these sizes, one of which may be -1.
Tensor unflatten(const Tensor& x, int axis, const Shape& sizes,
                 std::source_location w = std::source_location::current());
// With axes of size 1 before those that are there, so that there are 1 or 2 at least. With 3 a
// vector [n] is [1, n, 1] and a matrix [m, n] is [m, n, 1].
Tensor atleast_1d(const Tensor& x, std::source_location w = std::source_location::current());
Tensor atleast_2d(const Tensor& x, std::source_location w = std::source_location::current());
Tensor atleast_3d(const Tensor& x, std::source_location w = std::source_location::current());
Tensor broadcast_to(const Tensor& x, const Shape& shape,
                    std::source_location w = std::source_location::current());
Tensor expand_as(const Tensor& x, const Tensor& other,
                 std::source_location w = std::source_location::current());
// Rotated by a number of quarter turns from axis a to axis b. A copy.
Tensor rot90(const Tensor& x, std::int64_t quarters = 1, int a = 0, int b = 1,
             std::source_location w = std::source_location::current());

}  // namespace tilewright
