// The kernels by which texts of a batch get updates of low rank, each its own: two launches beside
// a layer's product, whose loops run over what tables say of a text's adapter. Ranks, places and
// the choice itself are data, so that nothing is compiled for them, and a text without an adapter
// costs two launches that find nothing to do.
//
// A layer's memory is a pool of rows, for all adapters together: row i of `a` and of `b` are the
// factors of one rank. An adapter has blocks of up to 16 rows that follow each other; its slot in
// the table lists them. Single rows of `b` are vectors of outputs: an offset, or what is added to
// the factor of the layer's own product (DoRA).
//
//   change = sum over blocks: weight * (x A^T) B + offsets      [texts, rows, out]
//   factor = 1 + sum of weight * factor rows                    [texts, 1, out]
//
// The order of each sum depends on the layer and on the number of rows of a text, never on other
// texts: so a text gets the same bits in any batch.
#pragma once

#include <cstdint>

#include "graph/tensor/tensor.h"

namespace tilewright::adapters {

inline constexpr std::int64_t block_ranks = 16;
// The most that a slot can have, be it an adapter's or a stack's.
inline constexpr std::int64_t most_blocks = 64, most_vectors = 8;

// A slot's row of the table: its number of blocks and of vectors; the first row and the number of
// rows of each block; the row and the kind of each vector. Its weights are in a table of their own,
// those of blocks first.
inline constexpr std::int64_t first_block = 2, first_vector = first_block + 2 * most_blocks;
inline constexpr std::int64_t table_columns = first_vector + 2 * most_vectors;
inline constexpr std::int64_t weight_columns = most_blocks + most_vectors;
enum class VectorKind : std::int64_t { factor, offset };

// The memory of one layer. All lie on one device.
struct LayerPool {
  Tensor a, b;     // [rows, in], [rows, out], of one floating dtype
  Tensor table;    // i64 [slots, table_columns]; slot 0 is empty
  Tensor weights;  // f32 [slots, weight_columns]
};

// y * factor + change: x [.., in] are rows of texts, as many of each, and y [.., out] their
// products; `slots` is i64 [texts]. Raises `Error` where the texts do not divide the rows.
Tensor with_row_updates(const Tensor& x, const Tensor& y, const Tensor& slots,
                        const LayerPool& pool);

}  // namespace tilewright::adapters
