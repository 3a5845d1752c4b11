// How host code multiplies few rows by a matrix with contiguous rows (codegen/host/emit_dot.cpp),
// as far as code that chooses block sizes must know it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dsl/target/target.h"

namespace tilewright::dsl {

// A block of accumulators, over whose columns each row of the right operand is read once.
struct RowProduct {
  std::int64_t height;   // rows of the left operand
  std::int64_t vectors;  // of columns
};
inline RowProduct row_product(const Target& host, std::int64_t rows) {
  const bool has_many = host.vector_registers() == 32;
  const std::int64_t height = std::min<std::int64_t>(rows, has_many ? 8 : 4);
  return {height, std::clamp<std::int64_t>((has_many ? 24 : 12) / height, 1, 8)};
}

// Rows of the right operand that no hardware prefetcher expects. They are fetched a block of
// columns ahead, for so many rows at a time: at distances of a power of two more would evict each
// other from the outer cache.
struct DistantRows {
  static constexpr std::int64_t least_bytes = 1 << 10;  // from one row to the next
  static constexpr std::int64_t at_once = 128;
};

}  // namespace tilewright::dsl
