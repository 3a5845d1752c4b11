// The formats of the elements that matrix instructions multiply, as floats. The table is
// number_formats.def.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/base/dtype.h"

namespace tilewright::dsl::emulator {

enum class Format : std::uint8_t {
#define TILEWRIGHT_NUMBER_FORMAT(name, ...) name,
#include "dsl/target/number_formats.def"
};

// A row of the table.
struct NumberFormat {
  Format format;
  std::string_view name;  // PTX's
  DType dtype;            // of the operands in this format
  int bytes;              // of an element
  int ignored_bits;       // of an element, the lowest ones
  bool defers;            // products over turns of a loop
};

inline constexpr NumberFormat number_formats[] = {
#define TILEWRIGHT_NUMBER_FORMAT(name, host, ignored, defers) \
  {Format::name, #name, dtype_of<host>(), sizeof(host), ignored, defers},
#include "dsl/target/number_formats.def"
};

constexpr const NumberFormat& info(Format format) {
  return number_formats[static_cast<std::size_t>(format)];
}
constexpr int bytes_of(Format format) { return info(format).bytes; }
constexpr std::string_view name_of(Format format) { return info(format).name; }

// The element of a host type in the low bits of `bits`, without the lowest ones. (An integer of 8
// bits is a float exactly.)
template <typename Host>
float float_of_bits(std::uint32_t bits, int ignored) {
  static_assert(sizeof(Host) <= sizeof bits);
  bits &= ~0U << ignored;
  Host element;
  std::memcpy(static_cast<void*>(&element), &bits, sizeof element);
  return static_cast<float>(element);
}

inline float element_value(Format format, std::uint32_t bits) {
  switch (format) {
#define TILEWRIGHT_NUMBER_FORMAT(name, host, ignored, ...) \
  case Format::name:                                       \
    return float_of_bits<host>(bits, ignored);
#include "dsl/target/number_formats.def"
  }
  return 0;
}

// A float in a format of 16 bits, rounded as its host type rounds.
inline std::uint16_t half_of(Format format, float value) {
  return static_cast<std::uint16_t>(bits_of(info(format).dtype, static_cast<double>(value)));
}

// Element `index` of those that a 32-bit register holds, the lowest bits first.
inline float packed_element(Format format, std::uint32_t word, int index) {
  return element_value(format, word >> (8 * bytes_of(format) * index));
}

}  // namespace tilewright::dsl::emulator
