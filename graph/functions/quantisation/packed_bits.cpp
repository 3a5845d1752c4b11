#include "graph/functions/quantisation/packed_bits.h"

#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

Tensor unpacked_bits(const Tensor& bytes, std::int64_t bits, source_location w) {
  require(bytes.dtype() == DType::u8 && bytes.rank() >= 1 && (bits == 2 || bits == 4 || bits == 8),
          "[unpacked_bits] ", bits, " bits of ", bytes.dtype(), " [", bytes.shape(), "] (at ",
          At{w}, "); 2, 4 or 8 bits of bytes along an axis are wanted");
  if (bits == 8) return bytes.to(DType::i32);
  const std::int64_t each = 8 / bits;
  Shape apart = bytes.shape(), whole = bytes.shape();
  apart.push_back(1);
  whole[whole.rank() - 1] *= each;
  const Tensor shifts = arange(0, 8, bits, DType::i32);
  return bitwise_and(shift_right(bytes.to(DType::i32).reshape(apart), shifts), (1 << bits) - 1)
      .reshape(whole);
}

Tensor dequantized_blocks(const BlockQuantized& x, source_location w) {
  const Shape& shape = x.integers.shape();
  require(shape.rank() >= 1 && x.block_size >= 1, "[dequantized_blocks] blocks of ", x.block_size,
          " of [", shape, "] (at ", At{w}, "); an axis and blocks of at least 1 are wanted");
  const std::int64_t size = shape[-1], blocks = (size + x.block_size - 1) / x.block_size;
  Shape wanted = shape;
  wanted[wanted.rank() - 1] = blocks;
  require(
      x.scales.shape() == wanted && (!x.zero_points.defined() || x.zero_points.shape() == wanted),
      "[dequantized_blocks] scales [", x.scales.shape(), "] for [", shape, "] in blocks of ",
      x.block_size, " (at ", At{w}, "); [", wanted, "] are wanted, and as many zero points");
  // Each block as an axis of its own where all are whole, else scales as elements are.
  const bool are_whole = blocks * x.block_size == size;
  Shape wide = wanted, whole = wanted;
  wide.push_back(x.block_size);
  whole[whole.rank() - 1] *= x.block_size;
  auto of_elements = [&](const Tensor& values) {
    const Tensor each = values.unsqueeze(-1);
    return are_whole ? each : each.expand(wide).reshape(whole).slice(-1, 0, size);
  };
  const Tensor integers = are_whole ? x.integers.reshape(wide) : x.integers;
  Tensor steps;
  if (!x.zero_points.defined())
    steps = (integers - (std::int64_t{1} << (x.bits - 1))).to(DType::f32);
  else if (is_floating(x.zero_points.dtype()))
    steps = integers.to(DType::f32) - of_elements(x.zero_points.to(DType::f32));
  else
    steps = (integers - of_elements(x.zero_points)).to(DType::f32);
  return (steps * of_elements(x.scales.to(DType::f32))).to(x.scales.dtype()).reshape(shape);
}

}  // namespace tilewright
