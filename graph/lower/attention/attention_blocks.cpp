#include "graph/lower/attention/attention_blocks.h"

#include <algorithm>
#include <bit>

#include "dsl/target/packed_product.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

// On the host, the scores of as many rows as are packed fit in an L1 cache.
constexpr std::int64_t query_rows = 64, packed_columns = 64, least_columns = 16;
// Where nothing is packed, blocks of many columns of few rows. If the rows' position says how many
// keys they see, half a block is computed for nothing: it is small beside all that may be seen.
constexpr std::int64_t few_columns = 128, most_columns = 512, scores = 4 << 10;
constexpr std::int64_t few_seen_columns = 64, blocks_of_seen = 32;
constexpr std::int64_t gpu_query_rows = 64, gpu_columns = 64, gpu_few_rows_columns = 32;
constexpr std::int64_t gpu_function_rows = 32, gpu_function_columns = 16,
                       gpu_wide_function_columns = 8;
// Programs that share their keys have at least so many blocks of keys each, and there are so many
// of them for a multiprocessor. Their results are combined in a tile of so many elements.
constexpr std::int64_t least_key_blocks = 2, programs_a_multiprocessor = 2;
constexpr std::int64_t combined_elements = 8 << 10;
// On Hopper two warpgroups take 64 rows each; 128 columns if the sums of a row leave registers.
constexpr std::int64_t warpgroup_rows = 64, hopper_columns = 128, hopper_depth = 128;
// With fewer keys loops have a turn or two, and what is fetched for one is wanted by the next.
constexpr std::int64_t warpgroup_keys = 512;

// The largest divisor in reach: without an edge, keys are read where they lie.
std::int64_t block_of_columns(std::int64_t columns, std::int64_t most) {
  if (columns <= most) return columns;
  for (std::int64_t size = most; size >= least_columns; --size)
    if (columns % size == 0) return size;
  return packed_columns;
}

BlockSizes host_blocks(const AttentionShape& shape, bool is_causal) {
  std::int64_t most = std::clamp(scores / shape.rows, few_columns, most_columns);
  if (shape.rows >= dsl::PackedProduct::least_rows)
    most = packed_columns;
  else if (is_causal)
    most = std::min(most, std::max(few_seen_columns, shape.keys() / blocks_of_seen));
  return {std::min(shape.rows, query_rows), block_of_columns(shape.run_of_keys(), most)};
}

BlockSizes default_blocks(const dsl::Target& target, const Task& task, const AttentionShape& shape,
                          bool on_tensor_cores) {
  if (has_warpgroups(target, task, shape))
    return {shape.rows >= 2 * warpgroup_rows ? 2 * warpgroup_rows : warpgroup_rows,
            std::min(shape.keys(), shape.depth() <= hopper_depth ? hopper_columns : gpu_columns)};
  if (!target.is_gpu()) return host_blocks(shape, task.attributes.causal);
  // Fewer rows are filled up, for tensor cores.
  bool fills_up = shape.rows < few_rows && on_tensor_cores;
  return {fills_up ? few_rows : std::min(shape.rows, gpu_query_rows),
          std::min(shape.keys(), shape.rows > few_rows ? gpu_columns : gpu_few_rows_columns)};
}

// How many programs share the keys of one: with few rows and long keys there are too few otherwise.
std::int64_t default_splits(const dsl::Target& target, const AttentionShape& shape,
                            std::int64_t columns, std::int64_t window) {
  std::int64_t programs = shape.batch() * shape.heads;
  if (!target.is_gpu() || shape.rows > few_rows || programs >= target.gpu().multiprocessors)
    return 1;
  std::int64_t seen = window == 0 ? shape.keys() : std::min(shape.keys(), window + shape.rows);
  std::int64_t splits =
      std::min({divide_up(programs_a_multiprocessor * target.gpu().multiprocessors, programs),
                divide_up(seen, columns) / least_key_blocks, combined_elements / shape.depth()});
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, splits))));
}

// Columns of a block that is a part of one page, of a power of two of rows.
std::int64_t columns_in_page(const AttentionShape& shape, std::int64_t columns) {
  if (!shape.pages) return columns;
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::min(columns, shape.run_of_keys()))));
}

// The shape with as many rows as the blocks of its class are for.
AttentionShape rows_of_class(AttentionShape shape) {
  constexpr std::int64_t not_packed = dsl::PackedProduct::least_rows - 1;
  shape.rows = shape.rows < few_rows      ? few_rows
               : shape.rows <= not_packed ? not_packed
                                          : query_rows;
  return shape;
}

}  // namespace

// Warpgroups read their operands from shared memory, where codes are no operands. Their loop mixes
// the values of a block behind the next one's scores, which for pages would look up each twice.
bool has_warpgroups(const dsl::Target& target, const Task& task, const AttentionShape& shape) {
  return target.gpu().has_warpgroup_products && is_float16(task.dtype) && !has_codes(task) &&
         !shape.pages && shape.rows >= warpgroup_rows && shape.keys() >= warpgroup_keys;
}

BlockSizes used_blocks(const TaskList& list, const Task& task, const dsl::Target& target,
                       const BlockSizes& asked) {
  const Attributes& attributes = task.attributes;
  AttentionShape shape(task);
  BlockSizes blocks = default_blocks(target, task, shape, list.on_tensor_cores(task.dtype));
  // For scores that threads multiply up by themselves, a mask's operand takes as many registers
  // again, and a function's operands and values more.
  if (target.is_gpu() && !list.on_tensor_cores(task.dtype)) {
    if (has_mask(task)) blocks.columns = std::min(blocks.columns, gpu_few_rows_columns);
    if (has_function(task)) {
      blocks.rows = std::min(blocks.rows, gpu_function_rows);
      blocks.columns =
          std::min(blocks.columns,
                   bit_width(task.dtype) == 64 ? gpu_wide_function_columns : gpu_function_columns);
    }
  }
  blocks.rows = settled(asked.rows, blocks.rows, shape.rows);
  blocks.columns = columns_in_page(shape, settled(asked.columns, blocks.columns, shape.keys()));
  blocks.splits =
      settled(asked.splits, default_splits(target, shape, blocks.columns, attributes.window));
  if (target.gpu().has_clusters) blocks.cluster = asked.cluster;  // neighbours share keys
  return blocks;
}

// Rows that are packed are whole blocks of accumulators.
BlockSizes blocks_for_any_sizes(const dsl::Target& host, const Task& task, const BlockSizes& asked,
                                bool rows_vary, bool keys_vary) {
  const AttentionShape shape(task);
  BlockSizes blocks = {shape.rows, few_columns};
  if (rows_vary) {
    blocks = host_blocks(rows_of_class(shape), task.attributes.causal);
    const bool packs = blocks.rows >= dsl::PackedProduct::least_rows;
    if (keys_vary) blocks.columns = packs ? packed_columns : blocks.rows;
    if (packs) {
      const std::int64_t whole =
          dsl::PackedProduct::whole_blocks(host, dsl::elements_in_word(host, task.dtype));
      blocks.rows = std::max(blocks.rows / whole, std::int64_t{1}) * whole;
    }
  }
  blocks.rows = settled(asked.rows, blocks.rows);
  blocks.columns = columns_in_page(shape, settled(asked.columns, blocks.columns));
  blocks.splits = 1;
  return blocks;
}

bool takes_rows(const Task& task, const Region& region, const dsl::Target& target) {
  return region.sizes_vary && !target.is_gpu() && !AttentionShape(task).packs_heads;
}
bool takes_keys(const Task& task, const Region& region, const dsl::Target& target) {
  return region.sizes_vary && !target.is_gpu() && !has_position(task) && !has_pages(task);
}
BlockSizes blocks_of_attention(const TaskList& list, const Region& region,
                               const dsl::Target& target, const BlockSizes& asked) {
  const Task& task = list.tasks[region.tasks[0]];
  const bool rows = takes_rows(task, region, target), keys = takes_keys(task, region, target);
  return rows || keys ? blocks_for_any_sizes(target, task, asked, rows, keys)
                      : used_blocks(list, task, target, asked);
}
Grid grid_of_attention(const AttentionShape& shape, const BlockSizes& block) {
  return {divide_up(shape.rows, block.rows) * block.splits, shape.heads, shape.batch()};
}

}  // namespace tilewright::graph
