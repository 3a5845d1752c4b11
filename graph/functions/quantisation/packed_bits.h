// Integers of 2, 4 and 8 bits that share bytes, the first in the lowest bits, and blocks of
// neighbours of them with a scale and a zero point each, as ONNX Runtime packs weights
// (MatMulNBits, GatherBlockQuantized).
//
// Apart from quantized.h, whose products take the packing of this library. Misuse raises `Error`;
// safe to call from several threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// bytes, u8 [.., n], as [.., n * 8 / bits], i32.
Tensor unpacked_bits(const Tensor& bytes, std::int64_t bits,
                     std::source_location w = std::source_location::current());

// Integers [.., n] in blocks along the last axis, of which the last may lack elements.
struct BlockQuantized {
  Tensor integers;     // i32
  Tensor scales;       // [.., blocks]
  Tensor zero_points;  // likewise, integers or floats; undefined: the middle of the range
  std::int64_t block_size, bits;
};
// (integer - zero point) * scale, computed in f32, in the scales' dtype.
Tensor dequantized_blocks(const BlockQuantized& x,
                          std::source_location w = std::source_location::current());

}  // namespace tilewright
