// The cost of a product on the cores of the host, by the size of a program's block.
//
// A block of r rows and c columns, over a depth k, takes a program
//
//   multiply   r c k / lanes cycles; columns that are no whole vectors, and panels too narrow to
//              hide what is loaded behind them, take more
//   fetch      k c of the right operand, from memory for the first rows and from the outer cache
//              for those that follow, unless its rows are far apart
//              (dsl/target/row_product.h): behind the multiplications where there are enough of
//              them. Many rows are packed first (dsl/target/packed_product.h), which adds
//   pack       k c for the right operand, what makes few rows dear, unless it is packed already
//              (packed_weights.h); k r for the left
//   copy       operands that blocks do not cut into equal parts, before they are packed
//   spill      of what does not fit the outer cache of a core; by tiles the sums, where the left
//              operand does not
//
// All programs together take as long as the thread that has most of them; and since threads do not
// run equally fast, a part of one more program.
#pragma once

#include <cstdint>

#include "dsl/target/target.h"

namespace tilewright::graph {

struct ProductExtent {
  std::int64_t outer = 1;  // products
  std::int64_t rows = 1, columns = 1, depth = 1;
  std::int64_t element_bytes = 4;   // as they are multiplied
  std::int64_t weight_bytes = 4;    // of the right operand, in memory
  std::int64_t least_columns = 1;   // of a block, so that it reads whole runs of memory
  std::int64_t column_quantum = 0;  // of blocks whose rows are not packed; 0: whole vectors
  std::int64_t panel_width = 0;     // of a right operand that is packed already
  bool along_depth = false;         // the right operand is contiguous along the inner axis
};

// Cycles until the product is done with blocks of this size on `threads` threads, each block's
// inner axis shared by `splits` programs.
double product_cycles(const ProductExtent& product, const dsl::Target& host,
                      std::int64_t block_rows, std::int64_t block_columns, int threads,
                      std::int64_t splits = 1);

struct ProductBlock {
  std::int64_t rows, columns;
};
// How many of a block's columns a host with tiles multiplies and stores before the next, while all
// of its rows lie packed in the outer cache; 0: the whole block at once.
std::int64_t tiled_chunk(const ProductExtent& product, const dsl::Target& host,
                         std::int64_t block_rows, std::int64_t block_columns);
// The block of least cost.
ProductBlock cheapest_product_block(const ProductExtent& product, const dsl::Target& host,
                                    int threads);

}  // namespace tilewright::graph
