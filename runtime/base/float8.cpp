#include "runtime/base/float8.h"

#include <bit>

#include "runtime/base/half.h"

namespace tilewright {
namespace {

// A format of 8 bits with a sign, by its bits of mantissa and its exponent's bias.
template <int mantissa, int bias>
struct Format {
  static constexpr int dropped = 23 - mantissa;

  // The magnitude of a float that does not overflow.
  static std::uint32_t rounded(std::uint32_t magnitude) {
    constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - bias) << 23;
    if (magnitude < rebias + (1U << 23)) {
      // Below the normal numbers, whose steps are those of this number: let the adder round.
      constexpr std::uint32_t step = static_cast<std::uint32_t>(127 + 23 + 1 - bias - mantissa)
                                     << 23;
      float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(step);
      return std::bit_cast<std::uint32_t>(sum) - step;
    }
    std::uint32_t half = (1U << (dropped - 1)) - 1;
    return (magnitude + half + (magnitude >> dropped & 1) - rebias) >> dropped;
  }
};

constexpr std::uint32_t magnitude_mask = 0x7fffffff, infinity = 0x7f800000;
constexpr std::uint32_t e4m3_most = 0x43e80000;  // 464, which still rounds to 448
constexpr std::uint32_t e5m2_over = 0x47700000;  // 61440, which rounds to infinity
constexpr std::uint8_t fnuz_nan = 0x80;

// Numbers that are too large, and NaN, are rounded beyond the last code.
template <int mantissa, int bias>
std::uint8_t fnuz_bits(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t code = Format<mantissa, bias>::rounded(bits & magnitude_mask);
  if (code > 0x7f) return fnuz_nan;
  return static_cast<std::uint8_t>(code == 0 ? 0 : code | (bits >> 24 & 0x80));
}

template <int mantissa, int bias>
float fnuz_value(std::uint8_t bits) {
  if (bits == fnuz_nan) return std::bit_cast<float>(0x7fc00000U);
  float scale = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 127 - bias) << 23);
  float value =
      std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x7f) << (23 - mantissa)) * scale;
  return (bits & 0x80) != 0 ? -value : value;
}

}  // namespace

std::uint8_t e4m3_bits(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & magnitude_mask;
  std::uint32_t code = magnitude > infinity    ? 0x7f
                       : magnitude > e4m3_most ? 0x7e
                                               : Format<3, 7>::rounded(magnitude);
  return static_cast<std::uint8_t>((bits >> 24 & 0x80) | code);
}

float e4m3_value(std::uint8_t bits) {
  std::uint32_t sign = std::uint32_t{bits & 0x80U} << 24, magnitude = bits & 0x7fU;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000U);
  float value = std::bit_cast<float>(magnitude << 20) * 0x1p120F;
  return sign != 0 ? -value : value;
}

std::uint8_t e5m2_bits(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & magnitude_mask;
  std::uint32_t code = magnitude > infinity     ? 0x7f
                       : magnitude >= e5m2_over ? 0x7c
                                                : Format<2, 15>::rounded(magnitude);
  return static_cast<std::uint8_t>((bits >> 24 & 0x80) | code);
}

float e5m2_value(std::uint8_t bits) { return half_value(static_cast<std::uint16_t>(bits << 8)); }

std::uint8_t e4m3fnuz_bits(float value) { return fnuz_bits<3, 8>(value); }
float e4m3fnuz_value(std::uint8_t bits) { return fnuz_value<3, 8>(bits); }
std::uint8_t e5m2fnuz_bits(float value) { return fnuz_bits<2, 16>(value); }
float e5m2fnuz_value(std::uint8_t bits) { return fnuz_value<2, 16>(bits); }

}  // namespace tilewright
