// The two 16-bit floating types as storage: they convert to and from float, and nothing else.
//
// Arithmetic in 16 bits is the compiler's affair; on the host these only carry bits. Conversion
// from float rounds to nearest, ties to even; infinities and NaN are kept; f16 overflows to
// infinity and keeps subnormals.
#pragma once

#include <bit>
#include <cstdint>

namespace tilewright {

std::uint16_t half_bits(float value);
float half_value(std::uint16_t bits);

inline std::uint16_t bfloat16_bits(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1)) >> 16);
}
inline float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// IEEE binary16.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(half_bits(value)) {}
  explicit operator float() const { return half_value(bits); }
  bool operator==(const Half&) const = default;
};

// The upper half of an IEEE binary32.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(bfloat16_bits(value)) {}
  explicit operator float() const { return bfloat16_value(bits); }
  bool operator==(const BFloat16&) const = default;
};

}  // namespace tilewright
