// Matrices in memory, as products read and write them (emit_dot.cpp and its neighbours).
#pragma once

#include "dsl/codegen/host/emitter.h"
#include "dsl/target/row_product.h"

namespace tilewright::dsl {

constexpr std::int64_t most_rows_fetched = 8;  // of more, multiplications hide what memory takes

struct Emitter::Matrix {
  llvm::Value* data;
  DType dtype;
  std::int64_t rows, columns;
  Stride row_stride, column_stride;  // in elements of dtype
  // Neighbours in memory that count as one element, of 32 bits: 2 of bf16, 4 of i8. 1: none do.
  int in_word = 1;
  // Columns lie in panels of this width (packed_product.h), each `panel_rows` long; 0: they do not.
  std::int64_t panel_width = 0, panel_rows = 0;

  // How far from this block the loop's next iteration reads, in elements, if that is worth
  // prefetching.
  llvm::Value* next_block = nullptr;
  bool in_scratch = false;           // memory: the first element begins a line of the cache
  bool starts_sums = false;          // behind the last row is one that sums begin with
  llvm::Value* live_rows = nullptr;  // the number of rows that are needed; null: all

  bool of_words() const { return in_word != 1; }
  bool in_panels() const { return panel_width != 0; }
  bool rows_contiguous() const { return column_stride.known == 1; }  // along columns
  bool columns_contiguous() const { return row_stride.known == 1; }  // along rows
  // True if rows are so far apart that no hardware prefetcher expects the next one.
  bool has_distant_rows() const {
    return rows_contiguous() && row_stride.known &&
           *row_stride.known * size_bytes(dtype) >= DistantRows::least_bytes;
  }
  Matrix transposed() const {
    Matrix result{data, dtype, columns, rows, column_stride, row_stride, in_word};
    result.next_block = next_block;
    return result;
  }
};

}  // namespace tilewright::dsl
