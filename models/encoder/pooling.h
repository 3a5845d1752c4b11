// From the states of a text's tokens to one vector of it.
//
// Texts of a call lie anywhere in its lanes, and their vectors are few numbers: they are pooled on
// the host.
#pragma once

#include <cstdint>
#include <span>

namespace tilewright {

// `mean_sqrt` is the sum divided by the root of the number of tokens; the weights of
// `weighted_mean` are 1, 2, ..
enum class Pool : std::uint8_t { first, max, mean, mean_sqrt, weighted_mean, last };

// The vectors of the modes one behind the other, of states [tokens, width] of one text: `result`
// is [modes * width]. There is at least one token.
void pool(std::span<const float> states, std::size_t width, std::span<const Pool> modes,
          std::span<float> result);

// Divides a vector by its length, of at least 1e-12.
void normalize(std::span<float> vector);

}  // namespace tilewright
