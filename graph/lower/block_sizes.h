// How a region's table is cut among programs: which row digit is cut into blocks, and how large
// blocks of rows and columns are. The one place where sizes of caches and numbers of threads count.
#pragma once

#include "graph/lower/lower.h"

namespace tilewright::graph {

struct RowBlocks {
  std::optional<std::size_t> digit;  // that is cut in blocks; none: one row a program
  std::int64_t rows = 1, columns = 1;
  bool has_product = false;
  // Neighbouring programs have neighbouring rows, not columns: they share a product's weights, or
  // go along memory that is contiguous by rows.
  bool rows_fastest = false;
  // Tiles are [columns, rows]: memory is contiguous along rows, as in a sum over the first axis.
  bool columns_first = false;
};

// `wanted` overrides the choice where it is not 0; it is clipped to what the region allows.
RowBlocks choose_blocks(const TaskList& list, const Region& region, const BlockSizes& wanted);

}  // namespace tilewright::graph
