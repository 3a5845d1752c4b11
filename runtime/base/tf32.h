// TensorFloat-32: a float of which tensor cores look at the upper 19 bits, that is, at 10 bits of
// the mantissa.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tilewright {

// The nearest number of 10 bits of mantissa, ties away from zero (as cvt.rna.tf32.f32); larger
// values become infinite.
inline float round_to_tf32(float value) {
  if (std::isnan(value)) return value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000U) & 0xFFFFE000U);
}

// The same with ties to even, as TMA rounds.
inline float round_to_even_tf32(float value) {
  if (std::isnan(value)) return value;
  auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0xFFFU + (bits >> 13 & 1)) & 0xFFFFE000U);
}

}  // namespace tilewright
