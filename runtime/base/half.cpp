#include "runtime/base/half.h"

namespace tilewright {

std::uint16_t half_bits(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)
    return sign | 0x7e00U | static_cast<std::uint16_t>(magnitude >> 13 & 0x3ffU);
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;  // rounds to 65536 or more, or is infinite
  if (magnitude < 0x38800000U) {                        // subnormal half: let the adder round
    float scaled = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(scaled) - 0x3f000000U);
  }
  std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1);
  return sign | static_cast<std::uint16_t>((rounded - 0x38000000U) >> 13);
}

float half_value(std::uint16_t bits) {
  std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  std::uint32_t exponent = bits >> 10 & 0x1fU, mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace tilewright
