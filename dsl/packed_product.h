// How host code packs large products (codegen/emit_packed_dot.cpp): what whoever chooses the sizes
// of blocks must know of it.
#pragma once

#include <cstdint>

#include "dsl/target.h"

namespace tilewright::dsl {

struct PackedProduct {
  static constexpr std::int64_t least_rows = 48;  // for fewer, packing costs more than it gains
  static constexpr std::int64_t strip_bytes = 16 << 10;  // of a packed strip of the left operand
  std::int64_t height = 4;                               // rows of a block of accumulators
  std::int64_t vectors = 3;                              // of columns
  std::int64_t strip_rows() const { return 2 * height; }
};

// As many accumulators as leave registers for what is loaded.
inline PackedProduct packed_product(const Target& host) {
  return {host.vector_registers() == 32 ? 8 : 4, 3};
}

}  // namespace tilewright::dsl
