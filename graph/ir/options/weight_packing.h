// How quantised weights lie in memory and are multiplied, as numbers that the shape rule, the
// decomposition and the meaning of `quantized_linear` share. graph/functions/quantized.h has the
// essay.
#pragma once

#include <cstdint>

#include "dsl/target/step_rows.h"

namespace tilewright {

inline constexpr std::int64_t packed_block = 32;  // weights of 4 bits that are packed together
// The most rows of x for which nothing is rounded.
constexpr std::int64_t streamed_rows(bool row_invariant) {
  return row_invariant ? dsl::rows_of_a_step : 4;
}
// How many of the steps that groups of a row share are the largest group's scale.
constexpr int shared_steps(bool is_packed, bool has_zeros) {
  return !is_packed ? 1 : has_zeros ? 8 : 15;
}

}  // namespace tilewright
