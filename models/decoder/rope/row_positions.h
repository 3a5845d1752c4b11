// Where the rows of a call stand in their texts, and how their heads are turned for it.
#pragma once

#include "graph/tensor/tensor.h"
#include "models/decoder/rope/rope.h"

namespace tilewright {

// The positions in the text that the rows of one call have.
struct RowPositions {
  // `first` is i64 [1], or [batch] with one for each text; the call's rows follow it. `text_rows`
  // is i64 [1] or [batch], the announced lengths of the texts (DecodingState::expect), or
  // undefined.
  RowPositions(const Tensor& first, std::int64_t rows, const Tensor& text_rows = {});
  RowPositions(const Tensor& first, std::int64_t rows, const RotaryTable& table,
               const Tensor& text_rows = {});
  RowPositions with(const RotaryTable& table) const;  // the same rows, turned by that table
  Tensor first, text_rows;
  Tensor positions;  // i64 [rows], or [batch, rows]
  // [rows, rotary size / 2], or [batch, 1, rows, ..]; undefined without a table.
  Tensor cos, sin;
  RopePairs pairs = RopePairs::halves;
};

// Turns each pair of the first elements of a head, as many as the table has, by its angle; x itself
// without a table. x [batch, heads, rows, D].
Tensor rotate(const Tensor& x, const RowPositions& row_positions);

// [batch, rows, heads * D] -> [batch, heads, rows, D]
Tensor split_heads(const Tensor& x, std::int64_t heads);

}  // namespace tilewright
