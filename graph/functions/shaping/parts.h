// Parts of a tensor along an axis, under PyTorch's names. All are views, so that writing to one
// writes to the tensor. Axes count from the end where they are negative.
//
// Misuse raises `Error`; safe to call from several threads. (Members of Tensor: slice, select.)
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Parts of the given number of elements each, the last perhaps of fewer; or of these sizes, which
// add up to the axis's.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0,
                          std::source_location w = std::source_location::current());
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0,
                          std::source_location w = std::source_location::current());
// At most this many parts, all of one size but perhaps the last.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0,
                          std::source_location w = std::source_location::current());
// Exactly this many parts, the first ones longer by one where the size is not a multiple; or the
// parts before, between and behind these places.
std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t sections, int axis = 0,
                                 std::source_location w = std::source_location::current());
std::vector<Tensor> tensor_split(const Tensor& x, const std::vector<std::int64_t>& places,
                                 int axis = 0,
                                 std::source_location w = std::source_location::current());
// One for each place of the axis, without that axis.
std::vector<Tensor> unbind(const Tensor& x, int axis = 0,
                           std::source_location w = std::source_location::current());
// The `length` elements from `start` on, which counts from the end where it is negative.
Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length,
              std::source_location w = std::source_location::current());

}  // namespace tilewright
