// The 8-bit floating types as storage: they convert to and from float, and nothing else.
//
//   f8e4m3      4 bits of exponent, 3 of mantissa: up to 448, no infinities, NaN is all ones
//   f8e5m2      5 bits of exponent, 2 of mantissa: the upper half of an IEEE binary16
//   f8e4m3fnuz  as f8e4m3 by halves: up to 240, no infinities, no -0, whose code is the one NaN
//   f8e5m2fnuz  5 bits of exponent, 2 of mantissa: up to 57344, otherwise as f8e4m3fnuz
//
// Conversion from float rounds to nearest, ties to even. A value that rounds to more than the
// largest number, infinities included, becomes that number in f8e4m3, infinite in f8e5m2, and NaN
// in the other two, as PyTorch 2.15 has it for its float8_e4m3fn, float8_e5m2, float8_e4m3fnuz and
// float8_e5m2fnuz. (Up to PyTorch 2.14 float8_e4m3fn became NaN, too.) NaN stays NaN.
#pragma once

#include <cstdint>

namespace tilewright {

std::uint8_t e4m3_bits(float value);
float e4m3_value(std::uint8_t bits);
std::uint8_t e5m2_bits(float value);
float e5m2_value(std::uint8_t bits);

std::uint8_t e4m3fnuz_bits(float value);
float e4m3fnuz_value(std::uint8_t bits);
std::uint8_t e5m2fnuz_bits(float value);
float e5m2fnuz_value(std::uint8_t bits);

struct Float8E4M3 {
  std::uint8_t bits = 0;
  Float8E4M3() = default;
  explicit Float8E4M3(float value) : bits(e4m3_bits(value)) {}
  explicit operator float() const { return e4m3_value(bits); }
  bool operator==(const Float8E4M3&) const = default;
};

struct Float8E5M2 {
  std::uint8_t bits = 0;
  Float8E5M2() = default;
  explicit Float8E5M2(float value) : bits(e5m2_bits(value)) {}
  explicit operator float() const { return e5m2_value(bits); }
  bool operator==(const Float8E5M2&) const = default;
};

struct Float8E4M3Fnuz {
  std::uint8_t bits = 0;
  Float8E4M3Fnuz() = default;
  explicit Float8E4M3Fnuz(float value) : bits(e4m3fnuz_bits(value)) {}
  explicit operator float() const { return e4m3fnuz_value(bits); }
  bool operator==(const Float8E4M3Fnuz&) const = default;
};

struct Float8E5M2Fnuz {
  std::uint8_t bits = 0;
  Float8E5M2Fnuz() = default;
  explicit Float8E5M2Fnuz(float value) : bits(e5m2fnuz_bits(value)) {}
  explicit operator float() const { return e5m2fnuz_value(bits); }
  bool operator==(const Float8E5M2Fnuz&) const = default;
};

}  // namespace tilewright
