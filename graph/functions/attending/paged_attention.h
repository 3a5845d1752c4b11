// Attention to keys and values that lie in pages, as caches of language models may have them: texts
// that grow take page after page of a common memory, and texts that begin alike share pages.
//
//   // Pages of 64 rows of 2 heads, [pages, heads, rows, D], and the pages of each text.
//   Tensor keys = zeros({8, 2, 64, 32}, f32), values = zeros({8, 2, 64, 32}, f32);
//   Tensor page_table = Tensor::from(std::vector<std::int64_t>{5, 0, 2, 7}, {2, 2});
//   Tensor position = Tensor::from(std::vector<std::int64_t>{70, 3}, {2});
//   Tensor y = paged_attention(zeros({2, 2, 1, 32}, f32), keys, values, page_table,
//                              {.causal = true, .position = position});
//
// Safe to call from several threads.
#pragma once

#include <cstdint>

#include "graph/functions/attending/row_codes.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// As scaled_dot_product_attention (tensor.h) of keys and values of which text b has the rows of the
// pages that line b of the table names, one page after the other. k and v are [pages, heads, rows,
// D] with a power of two of at least 16 rows in each page; `page_table` is i32 or i64
// [batch, pages of a text]. A mask has an element for each row of a text's pages. Pages that
// causality or a window hides from all rows of q are not read, but for gradients, which read all
// that the table names. A number of no page stands for the nearest one. Raises `Error` for operands
// that do not fit each other.
Tensor paged_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                       const Tensor& page_table, const AttentionOptions& options = {});
// Likewise of codes [pages, heads, rows, D] with scales [pages, heads, rows].
Tensor paged_attention(const TensorOperand& q, const RowCodes& k, const RowCodes& v,
                       const Tensor& page_table, const AttentionOptions& options = {});

// Where rows of texts lie in pages that are seen as a matrix [pages * heads * page_rows, D]: i64
// [batch * heads * rows], for the rows at `positions`, integers [rows], or [batch, rows] for each
// text its own. A row of no page has a negative place. Rows [batch, heads, rows, D] are written by
// index_copy_ (tensor.h) to such a matrix: negative places are left out in a compiled function, and
// raise `Error` outside.
Tensor places_in_pages(const TensorOperand& page_table, const Tensor& positions, std::int64_t heads,
                       std::int64_t page_rows);

}  // namespace tilewright
