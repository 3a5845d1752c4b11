// Products of few rows by AMX, with exchanged operands.
//
// Along k both operands are contiguous. So the columns of the right one, of a weight stored [N, K],
// are the rows of left tiles as they lie in memory or in scratch memory, and are not packed. The
// few rows of the left operand are packed as the right tiles instead, and the sums are those of the
// transposed result:
//
//                rows of a, 16 or 32: [words of k, rows], packed
//     columns of b,               sums [columns, rows], which are transposed as they are stored
//     16 in a tile
//
// The rests of k and of the columns beyond whole tiles are multiplied by vectors
// (../emit_dot_along_k.cpp).
#include <algorithm>

#include "dsl/codegen/host/amx/amx_tiles.h"
#include "dsl/codegen/host/matrix.h"
#include "dsl/target/packed_product.h"
#include "runtime/base/divide_up.h"

namespace tilewright::dsl {
bool Emitter::is_turned(const Matrix& a, const Matrix& b, int in_word) const {
  return dsl::is_turned(target_, in_word, a.rows, b.columns, b.rows) && !sums_rows_alike(a) &&
         a.rows_contiguous() && b.columns_contiguous() && b.column_stride.known;
}

void Emitter::turned_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                         int in_word) {
  const std::int64_t depth = b.rows / (tile_side * in_word) * (tile_side * in_word),
                     columns = b.columns / tile_side * tile_side;
  auto part = [&](std::int64_t k, std::int64_t n, std::int64_t deep, std::int64_t wide, bool adds) {
    Matrix left = part_of(a, index(0), index(k), a.rows, deep);
    left.live_rows = a.live_rows;
    const Matrix right = part_of(b, index(k), index(n), deep, wide),
                 result = part_of(c, index(0), index(n), c.rows, wide);
    if (k == 0 && n == 0) return turned_tiles(left, right, result, adds, in_word);
    if (deep < in_word * least_word_lanes) return dot_along_k(left, right, result, adds);
    dot_along_k(in_words(left, in_word), in_words(right.transposed(), in_word).transposed(), result,
                adds);
  };
  part(0, 0, depth, columns, accumulate);
  if (depth < b.rows) part(depth, 0, b.rows - depth, columns, true);
  if (columns < b.columns) part(0, columns, b.rows, b.columns - columns, accumulate);
}

// The same for whole tiles along k and the columns of b.
void Emitter::turned_tiles(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                           int in_word) {
  const std::int64_t scratch = scratch_used_, words = b.rows / in_word,
                     width = divide_up(a.rows, tile_side) * tile_side,
                     row_bytes = *b.column_stride.known * size_bytes(b.dtype);
  Matrix panel = scratch_matrix(DType::i32, words, width);
  panel.in_word = in_word;
  pack_turned(in_words(a, in_word), panel);
  // Four tiles of sums hide the latency of one. Memory is read few rows at a time.
  const std::int64_t high = b.in_scratch && width == tile_side ? 4 * tile_side : 2 * tile_side;
  const Matrix sums = scratch_matrix(c.dtype, std::min(high, b.columns), width);
  begin_tiles();
  for_blocks(b.columns, high, false, [&](llvm::Value* n, std::int64_t count) {
    TileBlock block{};
    block.left = {place_of(b, index(0), n), count,          b.rows, in_word, nullptr, row_bytes,
                  tile_side * row_bytes,    tile_line_bytes};
    block.right = panel;
    block.first = index(0);
    block.steps = words / tile_side;
    block.sums = block.result = part_of(sums, index(0), index(0), count, width);
    block.begins = block.ends = true;
    dot_tile_block(block, {});
    store_turned(part_of(sums, index(0), index(0), count, width),
                 part_of(c, index(0), n, c.rows, count), accumulate);
  });
  end_tiles();
  scratch_used_ = scratch;
}

// c becomes the transpose of the sums, whose rows are whole vectors, or is added to.
void Emitter::store_turned(const Matrix& sums, const Matrix& c, bool accumulate) {
  for (std::int64_t n = 0; n < c.columns; n += tile_side)
    for (std::int64_t m = 0; m < c.rows; m += tile_side) {
      std::vector<llvm::Value*> block;
      for (std::int64_t i = 0; i < tile_side; ++i)
        block.push_back(load_row(sums, index(n + i), index(m), tile_side, tile_side, c.dtype));
      transpose_lanes(block);
      for (std::int64_t i = 0; i < std::min(tile_side, c.rows - m); ++i) {
        llvm::Value* sum = block[static_cast<std::size_t>(i)];
        if (accumulate)
          sum = plus(load_row(c, index(m + i), index(n), tile_side, tile_side, c.dtype), sum);
        store_row(c, index(m + i), index(n), sum, tile_side);
      }
    }
}

// The rows of `a`, of words, as columns of a panel. Beyond the last one that is needed it is there
// again, for memory behind it may not be read.
void Emitter::pack_turned(const Matrix& a, const Matrix& panel) {
  llvm::Value* last =
      a.live_rows == nullptr ? index(a.rows - 1) : b_.CreateSub(a.live_rows, index(1));
  for_blocks(panel.rows, tile_side, false, [&](llvm::Value* k, std::int64_t) {
    for (std::int64_t m = 0; m < panel.columns; m += tile_side) {
      std::vector<llvm::Value*> block;
      for (std::int64_t i = 0; i < tile_side; ++i) {
        auto* row = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index(m + i), last);
        block.push_back(load_row(a, row, k, tile_side, tile_side, panel.dtype));
      }
      transpose_lanes(block);
      for (std::int64_t i = 0; i < tile_side; ++i)
        store_row(panel, b_.CreateAdd(k, index(i)), index(m), block[static_cast<std::size_t>(i)],
                  tile_side);
    }
  });
}

}  // namespace tilewright::dsl
