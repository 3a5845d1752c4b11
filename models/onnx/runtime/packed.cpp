// Operators of ONNX Runtime (com.microsoft) on weights of few bits, which share bytes: the first
// stands in the lowest bits. Blocks of neighbours share a scale and a zero point.
#include <bit>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/quantisation/packed_bits.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace runtime_packed_rows {
namespace {

std::int64_t bits_of(const Call& call) {
  const std::int64_t bits = call.integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) call.refuse("bits", "is not one of 2, 4 and 8");
  return bits;
}
std::int64_t block_of(const Call& call, std::optional<std::int64_t> missing) {
  const std::int64_t block = call.integer("block_size", missing);
  if (block < 16 || block > 1 << 20 || !std::has_single_bit(static_cast<std::uint64_t>(block)))
    call.refuse("block_size", concat("is ", block, "; a power of two from 16 on is wanted"));
  return block;
}

// A weight [N, K] of rows of `blocks` blocks.
struct Blocks {
  std::int64_t rows, blocks, block, bits;
};

// [rows, blocks] of the same number of elements, or packed along the blocks, or undefined.
Tensor zeros_of(const Call& call, const Blocks& b, DType dtype) {
  if (!call.has(3)) return {};
  const Tensor given = call.tensor(3);
  if (is_floating(given.dtype())) {
    require(given.count() == b.rows * b.blocks && given.dtype() == dtype, "[onnx] zero points ",
            given.dtype(), " [", given.shape(), "]; ", dtype, " [", Shape({b.rows, b.blocks}),
            "] are wanted");
    return given.reshape({b.rows, b.blocks});
  }
  const std::int64_t packed = (b.blocks * b.bits + 7) / 8;
  require(given.dtype() == u8 && given.count() == b.rows * packed, "[onnx] zero points ",
          given.dtype(), " [", given.shape(), "]; u8 [", Shape({b.rows, packed}), "] are wanted");
  return unpacked_bits(given.reshape({b.rows, packed}), b.bits).slice(1, 0, b.blocks);
}

// A [.., K] times the transpose of a weight [N, K]. accuracy_level is a hint about the intermediate
// precision, and is ignored: products are of floats.
Tensor product_of_packed(const Call& call) {
  const Tensor a = call.tensor(0), bytes = call.tensor(1), scales = call.tensor(2);
  const std::int64_t k = call.integer("K"), n = call.integer("N"), bits = bits_of(call),
                     block = block_of(call, {});
  call.integer("accuracy_level", 0);
  if (call.integer("weight_prepacked", 0) != 0)
    call.refuse("weight_prepacked", "is not supported: bytes must be in the order of ONNX");
  require(!call.has(4), "[onnx] input 4, the order of columns (g_idx), is not supported");
  require(k > 0 && n > 0 && k <= INT32_MAX && n <= INT32_MAX, "[onnx] a weight of N = ", n,
          " and K = ", k);
  const Blocks b{n, (k + block - 1) / block, block, bits};
  const std::int64_t blob = block * bits / 8;
  require(bytes.dtype() == u8 && bytes.shape() == Shape({n, b.blocks, blob}),
          "[onnx] the weight is ", bytes.dtype(), " [", bytes.shape(), "]; u8 [",
          Shape({n, b.blocks, blob}), "] are wanted");
  require(is_floating(a.dtype()) && scales.dtype() == a.dtype() && scales.count() == n * b.blocks,
          "[onnx] scales ", scales.dtype(), " [", scales.shape(), "] for a matrix ", a.dtype(),
          "; as many floats of its type as ", n, " rows of ", b.blocks, " blocks are wanted");
  require(a.rank() >= 1 && a.size(-1) == k, "[onnx] a matrix [", a.shape(),
          "] times a weight of K = ", k);
  const Tensor steps = unpacked_bits(bytes.reshape({n, b.blocks * blob}), bits);
  Tensor weight = dequantized_blocks(
      {steps, scales.reshape({n, b.blocks}), zeros_of(call, b, a.dtype()), block, bits});
  if (b.blocks * block != k) weight = weight.slice(1, 0, k);
  const Tensor bias = call.optional_tensor(5);
  if (bias.defined())
    require(bias.shape() == Shape({n}), "[onnx] a bias [", bias.shape(), "] for ", n, " results");
  return linear(a, weight, bias);
}

// Rows of a table [rows, .., size] whose last axis is packed, by indices.
Tensor rows_of_packed(const Call& call) {
  const Tensor bytes = call.tensor(0), scales = call.tensor(2);
  const std::int64_t bits = bits_of(call), block = block_of(call, 128);
  require(bytes.dtype() == u8 && bytes.rank() >= 2 && scales.rank() == bytes.rank(),
          "[onnx] a table ", bytes.dtype(), " [", bytes.shape(), "] with scales [", scales.shape(),
          "]; u8 of two axes or more, and scales of as many, are wanted");
  if (call.axis_within("gather_axis", 0, bytes.rank()) != 0)
    call.refuse("gather_axis", "is not 0, the only one of bytes");
  if (call.axis_within("quantize_axis", 1, bytes.rank()) != bytes.rank() - 1)
    call.refuse("quantize_axis", "is not the last one, the only one of bytes");
  const std::int64_t size = bytes.size(-1) * (8 / bits), blocks = (size + block - 1) / block;
  Shape wanted = bytes.shape();
  wanted[wanted.rank() - 1] = blocks;
  require(scales.shape() == wanted && is_floating(scales.dtype()), "[onnx] scales ", scales.dtype(),
          " [", scales.shape(), "]; floats [", wanted, "] are wanted");
  const Tensor ids = call.tensor(1);
  require(is_integer(ids.dtype()), "[onnx] indices are ", ids.dtype(), "; integers are wanted");
  const Tensor found = unpacked_bits(tilewright::index(bytes, {ids}), bits);
  Tensor zero;
  if (call.has(3)) {
    wanted[wanted.rank() - 1] = (blocks * bits + 7) / 8;
    const Tensor zeros = call.tensor(3);
    require(zeros.dtype() == u8 && zeros.shape() == wanted, "[onnx] zero points ", zeros.dtype(),
            " [", zeros.shape(), "]; u8 [", wanted, "] are wanted");
    zero = unpacked_bits(tilewright::index(zeros, {ids}), bits).slice(-1, 0, blocks);
  }
  return dequantized_blocks({found, tilewright::index(scales, {ids}), zero, block, bits});
}

constexpr Operator rows[] = {
    {"com.microsoft.GatherBlockQuantized", 1, by<rows_of_packed>},
    {"com.microsoft.MatMulNBits", 1, by<product_of_packed>},
};

}  // namespace
}  // namespace runtime_packed_rows

std::span<const Operator> runtime_packed_operators() { return runtime_packed_rows::rows; }

}  // namespace tilewright::onnx
