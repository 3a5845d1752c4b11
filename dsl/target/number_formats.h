// The formats of the elements that matrix instructions multiply, as floats.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "runtime/base/float8.h"
#include "runtime/base/half.h"

namespace tilewright::dsl::emulator {

enum class Format : std::uint8_t { bf16, f16, tf32, e4m3, e5m2, s8 };

constexpr int bytes_of(Format format) {
  switch (format) {
    case Format::bf16:
    case Format::f16: return 2;
    case Format::tf32: return 4;
    case Format::e4m3:
    case Format::e5m2:
    case Format::s8: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(Format format) {
  switch (format) {
    case Format::bf16: return "bf16";
    case Format::f16: return "f16";
    case Format::tf32: return "tf32";
    case Format::e4m3: return "e4m3";
    case Format::e5m2: return "e5m2";
    case Format::s8: return "s8";
  }
  return "";
}

// The element in the low bits of `bits`. A tf32 is a float whose last 13 bits are not looked at; an
// eight-bit integer is a float exactly.
inline float element_value(Format format, std::uint32_t bits) {
  switch (format) {
    case Format::bf16: return bfloat16_value(static_cast<std::uint16_t>(bits));
    case Format::f16: return half_value(static_cast<std::uint16_t>(bits));
    case Format::tf32: return std::bit_cast<float>(bits & 0xFFFFE000U);
    case Format::e4m3: return e4m3_value(static_cast<std::uint8_t>(bits));
    case Format::e5m2: return e5m2_value(static_cast<std::uint8_t>(bits));
    case Format::s8: return static_cast<float>(static_cast<std::int8_t>(bits));
  }
  return 0;
}

// Element `index` of those that a 32-bit register holds, the lowest bits first.
inline float packed_element(Format format, std::uint32_t word, int index) {
  return element_value(format, word >> (8 * bytes_of(format) * index));
}

}  // namespace tilewright::dsl::emulator
