#include "graph/lower/attention/any_rows.h"

#include <algorithm>

#include "dsl/target/packed_product.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t few_rows = 16, packed_rows = 64, packed_keys = 64;

}  // namespace

AttentionShape rows_of_class(AttentionShape shape) {
  constexpr std::int64_t not_packed = dsl::PackedProduct::least_rows - 1;
  shape.rows = shape.rows < few_rows      ? few_rows
               : shape.rows <= not_packed ? not_packed
                                          : packed_rows;
  return shape;
}

// Rows that are packed are whole blocks of accumulators.
BlockSizes blocks_for_any_rows(const dsl::Target& host, const Task& task, const BlockSizes& asked,
                               bool keys_vary, BlockSizes blocks) {
  const bool packs = blocks.rows >= dsl::PackedProduct::least_rows;
  if (keys_vary) blocks.columns = packs ? packed_keys : blocks.rows;
  if (packs) {
    const std::int64_t whole =
        dsl::PackedProduct::whole_blocks(host, dsl::elements_in_word(host, task.dtype));
    blocks.rows = std::max(blocks.rows / whole, std::int64_t{1}) * whole;
  }
  blocks.rows = settled(asked.rows, blocks.rows);
  blocks.columns = settled(asked.columns, blocks.columns);
  blocks.splits = 1;
  return blocks;
}

}  // namespace tilewright::graph
