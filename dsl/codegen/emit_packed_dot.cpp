// Large matrix products.
//
// What a product of many rows costs beside its multiplications is how its operands arrive. So it is
// done in pieces whose operands are packed in the order in which they are used:
//
//   for k, in pieces:                                as many as fill an L1 with a strip
//     pack b [k piece, all columns] as slivers       of whole vectors; lies in the L2
//     for m, in strips:                              a few blocks of registers high
//       pack a [strip, k piece]                      lies in the L1
//       for each sliver, each block of the strip:    sliver and block stream through registers
//         c += a block * sliver
//
// A sliver is [depth, columns of a block of accumulators] without gaps: the innermost loop reads
// memory in one direction, one cache line after the other, and rows that lie a power of two apart
// do not push each other out of the cache. Each element of b is packed once for all rows, each of a
// once for all columns; for 128 rows that is 5 % of the time.
#include <algorithm>

#include "dsl/codegen/matrix.h"
#include "dsl/packed_product.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t depth_quantum = 16;  // of pieces: a cache line, and whole pairs

constexpr std::int64_t cache_line = 64;

std::int64_t divide_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }
std::int64_t round_up(std::int64_t x, std::int64_t quantum) {
  return divide_up(x, quantum) * quantum;
}

}  // namespace

Emitter::Matrix Emitter::scratch_matrix(DType dtype, std::int64_t rows, std::int64_t columns) {
  Slot slot = allocate(ir::Type::tile(dtype, {rows, columns}));
  return {slot.data, dtype, rows, columns, index(columns), index(1)};
}

Emitter::Matrix Emitter::part_of(const Matrix& x, llvm::Value* row, llvm::Value* column,
                                 std::int64_t rows, std::int64_t columns) {
  Matrix part = x;
  part.data = place_of(x, row, column);
  part.rows = rows;
  part.columns = columns;
  return part;
}

void Emitter::packed_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  const PackedProduct how = packed_product(target_);
  const std::int64_t height = how.height, width = how.vectors * target_.lanes,
                     strip = how.strip_rows();
  const bool pairs =
      target_.has_fast_bf16_dot && has_pairs(a.dtype, b.dtype, c.dtype) && a.columns % 2 == 0;
  const std::int64_t in_word = pairs ? 2 : 1;  // elements of an operand that a lane holds
  const DType left_dtype = pairs ? a.dtype : c.dtype;
  std::int64_t pieces =
      divide_up(a.columns * strip * size_bytes(left_dtype), PackedProduct::strip_bytes);
  std::int64_t depth = std::min(a.columns, round_up(divide_up(a.columns, pieces), depth_quantum));

  const std::int64_t slivers = divide_up(b.columns, width);
  Matrix right = scratch_matrix(pairs ? DType::i32 : c.dtype, slivers * depth / in_word, width);
  right.pairs = pairs;
  Matrix left = scratch_matrix(left_dtype, strip, depth);
  if (depth < a.columns && !accumulate) {
    std::int64_t bytes = c.rows * c.columns * size_bytes(c.dtype);
    b_.CreateMemSet(c.data, b_.getInt8(0), static_cast<std::uint64_t>(bytes), llvm::Align(64));
    accumulate = true;
  }
  for_blocks(a.columns, depth, false, [&](llvm::Value* k, std::int64_t piece) {
    const std::int64_t words = piece / in_word;
    auto sliver = [&](llvm::Value* n, std::int64_t columns) {
      // What comes before it has n columns.
      Matrix result = right;
      result.data = gep(right.data, right.dtype, b_.CreateMul(n, index(words)));
      result.rows = words;
      result.columns = columns;
      return result;
    };
    for_blocks(b.columns, width, false, [&](llvm::Value* n, std::int64_t columns) {
      pack_sliver(part_of(b, k, n, piece, columns), sliver(n, columns));
    });
    for_blocks(a.rows, strip, false, [&](llvm::Value* m, std::int64_t rows) {
      Matrix packed = part_of(left, index(0), index(0), rows, piece);
      pack_rows(part_of(a, m, k, rows, piece), packed);
      if (pairs) packed = in_pairs(packed);
      for_blocks(b.columns, width, false, [&](llvm::Value* n, std::int64_t columns) {
        prefetch_share(b, next_piece(b, k, depth), n, columns, piece,
                       b_.CreateUDiv(m, index(strip)), divide_up(a.rows, strip));
        for_blocks(rows, height, false, [&](llvm::Value* r, std::int64_t high) {
          dot_block_n(part_of(packed, r, index(0), high, words), sliver(n, columns),
                      part_of(c, b_.CreateAdd(m, r), n, high, columns), accumulate);
        });
      });
    });
  });
}

// Where the columns that are packed next begin: a piece further along k, behind the last piece the
// columns beside this block's, which the same thread is likely to take.
llvm::Value* Emitter::next_piece(const Matrix& b, llvm::Value* k, std::int64_t depth) {
  auto* next = b_.CreateAdd(k, index(depth));
  auto* further = b_.CreateMul(next, b.row_stride);
  auto* beside = b_.CreateMul(index(b.columns), b.column_stride);
  return b_.CreateSelect(b_.CreateICmpSLT(next, index(b.rows)), further, beside);
}

// While one piece is multiplied, the next comes into the outer cache: of each sliver a share a
// strip. `start`: where the next piece begins, in elements. No fault comes of what does not exist.
void Emitter::prefetch_share(const Matrix& b, llvm::Value* start, llvm::Value* n,
                             std::int64_t columns, std::int64_t depth, llvm::Value* strip,
                             std::int64_t strips) {
  const bool along_k = b.columns_contiguous();
  const std::int64_t lines_of = along_k ? columns : depth;  // lines of memory, not of a cache
  const std::int64_t bytes = (along_k ? depth : columns) * size_bytes(b.dtype);
  const std::int64_t share = divide_up(lines_of, strips);
  auto* first = b_.CreateMul(strip, index(share));
  first = b_.CreateIntrinsic(llvm::Intrinsic::smin, {first->getType()},
                             {first, index(lines_of - share)});
  llvm::Value *line_stride = along_k ? b.column_stride : b.row_stride,
              *offset = b_.CreateAdd(start, b_.CreateMul(n, b.column_stride));
  std::vector<llvm::Value*> none;
  emit_loop(index(share), 1, none, [&](llvm::Value* i) {
    auto* line = b_.CreateAdd(offset, b_.CreateMul(b_.CreateAdd(first, i), line_stride));
    auto* data = gep(b.data, b.dtype, line);
    for (std::int64_t at = 0; at < bytes; at += cache_line) {
      auto* pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), data, static_cast<std::uint64_t>(at));
      prefetch({.pointer = pointer});
    }
  });
}

void Emitter::pack_sliver(const Matrix& b, const Matrix& sliver) {
  if (b.columns_contiguous()) {
    transpose_into(sliver.pairs ? in_pairs(b.transposed()).transposed() : b, sliver);
    return;
  }
  std::vector<llvm::Value*> none;
  emit_loop(index(sliver.rows), 1, none, [&](llvm::Value* k) {
    for (std::int64_t n = 0; n < b.columns; n += target_.lanes) {
      std::int64_t active = std::min<std::int64_t>(target_.lanes, b.columns - n);
      if (!sliver.pairs) {
        store_row(sliver, k, index(n),
                  load_row(b, k, index(n), target_.lanes, active, sliver.dtype), active);
        continue;
      }
      auto half = [&](std::int64_t which) {
        auto* row = b_.CreateAdd(b_.CreateMul(k, index(2)), index(which));
        auto* bits = load_row(b, row, index(n), target_.lanes, active, b.dtype);
        return b_.CreateZExt(bits, lanes_type(b_.getInt32Ty(), target_.lanes));
      };
      auto* upper = b_.CreateShl(half(1), 16);
      store_row(sliver, k, index(n), b_.CreateOr(half(0), upper), active);
    }
  });
}

void Emitter::pack_rows(const Matrix& a, const Matrix& packed) {
  if (!a.rows_contiguous()) {
    transpose_into(a, packed);
    return;
  }
  std::vector<llvm::Value*> none;
  emit_loop(index(a.rows), 1, none, [&](llvm::Value* m) {
    for_blocks(a.columns, target_.lanes, false, [&](llvm::Value* k, std::int64_t active) {
      store_row(packed, m, k, load_row(a, m, k, target_.lanes, active, packed.dtype), active);
    });
  });
}

Emitter::Matrix Emitter::transposed_copy(const Matrix& b, DType wanted) {
  Matrix to = scratch_matrix(wanted, b.rows, b.columns);
  transpose_into(b, to);
  return to;
}

void Emitter::transpose_into(const Matrix& b, const Matrix& to) {
  std::int64_t lanes = target_.lanes;
  for_blocks(b.columns, lanes, false, [&](llvm::Value* n, std::int64_t columns) {
    for_blocks(b.rows, lanes, false, [&](llvm::Value* k, std::int64_t rows) {
      transpose_block(b, to, n, k, columns, rows);
    });
  });
}

// A square block through registers: column n of b is contiguous, row k of the copy is.
void Emitter::transpose_block(const Matrix& b, const Matrix& to, llvm::Value* n, llvm::Value* k,
                              std::int64_t columns, std::int64_t rows) {
  int lanes = target_.lanes;
  Matrix b_rows = b.transposed();
  std::vector<llvm::Value*> v;
  for (int i = 0; i < lanes; ++i) {
    if (i < columns)
      v.push_back(load_row(b_rows, b_.CreateAdd(n, index(i)), k, lanes, rows, to.dtype));
    else
      v.push_back(llvm::Constant::getNullValue(lanes_type(element_type(to.dtype), lanes)));
  }
  for (int distance = 1; distance < lanes; distance *= 2)
    for (int i = 0; i < lanes; ++i) {
      if ((i & distance) != 0) continue;
      std::vector<int> low, high;
      for (int lane = 0; lane < lanes; ++lane) {
        bool upper = (lane & distance) != 0;
        low.push_back(upper ? lanes + lane - distance : lane);
        high.push_back(upper ? lanes + lane : lane + distance);
      }
      auto &x = v[static_cast<std::size_t>(i)], &y = v[static_cast<std::size_t>(i + distance)];
      auto* first = b_.CreateShuffleVector(x, y, low);
      y = b_.CreateShuffleVector(x, y, high);
      x = first;
    }
  for (int i = 0; i < rows; ++i)
    store_row(to, b_.CreateAdd(k, index(i)), n, v[static_cast<std::size_t>(i)], columns);
}

}  // namespace tilewright::dsl
