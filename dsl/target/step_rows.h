// The rows of a step of decoding: texts that are decoded together, or tokens of one text that are
// checked together. On hosts a text has the same bits whatever is decoded beside it.
#pragma once

#include <cstdint>

namespace tilewright::dsl {

// Up to so many rows of a product are each summed as one row alone is.
inline constexpr std::int64_t rows_of_a_step = 16;

}  // namespace tilewright::dsl
