// The formats in which files hold quantised weights, as a table (formats.def).
//
// A format is not a dtype: it says how bytes of a file become numbers, not what arithmetic is done
// with them. A new format is a row there and a function that takes its codes and scales apart.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "runtime/base/dtype.h"

namespace tilewright::quant {

enum class Format : std::uint8_t {
#define TILEWRIGHT_QUANT_FORMAT(name, ...) name,
#include "graph/quant/formats.def"
#undef TILEWRIGHT_QUANT_FORMAT
};

// The columns of the table.
enum class Zeros : std::uint8_t { none, centre, point, offset };
enum class Values : std::uint8_t { integer, float8, table };
enum class Packing : std::uint8_t {
  bytes,
  high_first,
  low_first,
  words_down,
  words_along,
  interleaved,
  block
};
enum class Nesting : std::uint8_t { none, optional, always };

struct FormatFacts {
  std::string_view name;
  int bits, block;
  DType scales;
  Zeros zeros;
  Values values;
  Packing packing;
  Nesting nesting;
};
const FormatFacts& facts_of(Format format);
std::ostream& operator<<(std::ostream& out, Format format);

}  // namespace tilewright::quant
