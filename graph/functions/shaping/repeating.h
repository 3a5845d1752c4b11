// The elements of a tensor several times, under PyTorch's names. Results are copies. Axes count
// from the end where they are negative.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The whole tensor, repeated the given number of times along each axis: numbers for the last axes,
// and for new ones before those. `tile` takes fewer numbers than there are axes, too, for the last
// ones.
Tensor repeat(const Tensor& x, const Shape& times,
              std::source_location w = std::source_location::current());
Tensor tile(const Tensor& x, const Shape& times,
            std::source_location w = std::source_location::current());
// Each element, repeated the given number of times; without an axis, all in row-major order.
Tensor repeat_interleave(const Tensor& x, std::int64_t times, std::optional<int> axis = {},
                         std::source_location w = std::source_location::current());
// The same with a number of times for each place, integers [size], which are read: a graph ends
// there.
Tensor repeat_interleave(const Tensor& x, const Tensor& times, std::optional<int> axis = {},
                         std::source_location w = std::source_location::current());

}  // namespace tilewright
