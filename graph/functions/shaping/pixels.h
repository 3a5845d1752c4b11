// Channels and pixels exchanged, and channels shuffled, under PyTorch's names.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// [.., C r r, H, W] to [.., C, H r, W r] for r = `factor`, and back.
Tensor pixel_shuffle(const Tensor& x, std::int64_t factor,
                     std::source_location w = std::source_location::current());
Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor,
                       std::source_location w = std::source_location::current());
// The channels, axis 1, of groups of equal size interleaved.
Tensor channel_shuffle(const Tensor& x, std::int64_t groups,
                       std::source_location w = std::source_location::current());

}  // namespace tilewright
