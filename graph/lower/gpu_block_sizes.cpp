// Blocks for GPUs: as many programs as there is work for, whose tiles fit in the registers of one
// block of threads. Sizes are powers of two where they can be, since tiles are held as such.
#include <algorithm>
#include <bit>
#include <span>

#include "graph/lower/block_sizes.h"
#include "graph/lower/stream_k.h"
#include "graph/regions/region_facts.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t most_elements = 16 << 10;  // of a tile: 32 registers of 512 threads
constexpr std::int64_t row_elements = 1 << 10;    // of short rows that share a program
constexpr std::int64_t long_chunk = 8 << 10;      // of a row that is no tile
constexpr std::int64_t most_sharing_programs = 8, least_share = 4 << 10, share_quantum = 256;
constexpr std::int64_t pointwise_elements = 1 << 10, many_pointwise_elements = 2 << 10;
constexpr std::int64_t many_programs = 512;  // some for each of a hundred multiprocessors
constexpr std::int64_t turned = 64;          // rows and columns of a block that is turned over
constexpr std::int64_t coalesced_rows = 32;  // of tiles whose rows are contiguous
constexpr std::int64_t prologue_elements = 8 << 10;  // of a chunk of what goes into a product
// In a product a tensor core's share is 16 rows, and fewer rows only wait for the weights.
constexpr std::int64_t few_rows = 16, few_rows_columns = 64, fewest_columns = 16;
constexpr std::int64_t few_rows_elements = 8 << 10;  // of a block of the weights
// One or two rows are multiplied element by element, in blocks of so many columns.
constexpr std::int64_t few_rows_columns_apart = 4, few_rows_reduced_columns = 8;
constexpr std::int64_t few_rows_columns_along = 32;
constexpr std::int64_t filled_rows_columns = 32, filled_rows_depth = 64;
// If programs share an inner axis, there are so many for a multiprocessor, and each has at least so
// much of it.
constexpr std::int64_t programs_a_multiprocessor = 2, least_split_depth = 512, most_splits = 16;
constexpr std::int64_t product_block = 64, large_product_block = 128;
constexpr std::int64_t product_depth_bytes = 64;
constexpr int elementary_cost = 10;  // from here on an op is a function, not an instruction or two
// On Hopper, two warpgroups of 64 rows each take a block's operands from swizzles of 128 bytes.
constexpr std::int64_t hopper_columns = 256, hopper_depth_bytes = 128;

std::int64_t power(std::int64_t x) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(x)));
}

struct Work {
  RegionFacts facts;
  std::int64_t rows = 1;  // of the digit that is cut
  std::int64_t multiprocessors = 1;
  bool has_functions = false;  // elementary ones, which want registers beside a product's sums
};

bool has_functions(const TaskList& list, const Region& region) {
  return std::ranges::any_of(region.tasks, [&](TaskId id) {
    const auto& op = list.tasks[id].tile_op;
    return op && ir::info(*op).cost >= elementary_cost;
  });
}

// Blocks of a product on Hopper's warpgroups. The rates, in TFLOP/s of bf16 where all
// multiprocessors are busy, were measured on an H100 (docs/results/gpu_gemm.json).
struct HopperBlock {
  std::int64_t rows, columns, on_a_multiprocessor;
  double rate;
};
constexpr HopperBlock hopper_blocks[] = {{128, 256, 1, 820}, {128, 128, 1, 670}, {64, 64, 2, 370}};
constexpr double evened_out = 0.81;  // what a last round that shares its depth leaves of a rate

double rate_of(const HopperBlock& block, const Region& region, const Work& work) {
  const std::int64_t programs = region.rows / work.rows * divide_up(work.rows, block.rows) *
                                divide_up(region.width, block.columns);
  const std::int64_t at_once = work.multiprocessors * block.on_a_multiprocessor;
  const auto rounds = static_cast<double>(divide_up(programs, at_once) * at_once);
  const double busy = static_cast<double>(programs) / rounds;
  return block.rate * (programs > at_once ? std::max(busy, evened_out) : busy);
}

const HopperBlock& fastest_block(const Region& region, const Work& work, bool may_be_wide) {
  const HopperBlock* best = &hopper_blocks[may_be_wide ? 0 : 1];
  for (const HopperBlock& block : std::span(hopper_blocks).subspan(may_be_wide ? 0 : 1))
    if (rate_of(block, region, work) > rate_of(*best, region, work)) best = &block;
  return *best;
}

// For one block of rows: columns so narrow that each has a multiprocessor, and none shares an inner
// axis. 128x2048x2048 takes an H100 6.5 us in blocks of 128x16, and 9.6 us in such of 64x64 that
// share theirs by four; 128x3072x3072 12.7 us in blocks of 128x64, and 16.0 us.
std::optional<std::int64_t> narrow_columns(const Region& region, const Work& work) {
  if (work.rows != large_product_block) return std::nullopt;
  const std::int64_t tables = region.rows / work.rows;
  auto programs = [&](std::int64_t columns) { return tables * divide_up(region.width, columns); };
  std::int64_t columns = product_block;
  if (programs(columns) > work.multiprocessors) return std::nullopt;
  while (columns > fewest_columns && programs(columns / 2) <= work.multiprocessors) columns /= 2;
  return 2 * programs(columns) >= work.multiprocessors ? std::optional(columns) : std::nullopt;
}

void product_blocks(const Region& region, const Work& work, bool hopper, RowBlocks& blocks) {
  std::int64_t programs = region.rows * region.width / (large_product_block * large_product_block);
  std::int64_t enough = hopper ? work.multiprocessors : many_programs;
  std::int64_t size = programs >= enough ? large_product_block : product_block;
  bool few = work.rows <= few_rows;
  blocks.rows_fastest = true;
  std::int64_t depth_bytes = hopper ? hopper_depth_bytes : product_depth_bytes;
  std::int64_t least_bytes = work.facts.on_tensor_cores ? 1 : 2;
  blocks.depth = depth_bytes / std::max(least_bytes, work.facts.weight_element_bytes);
  const HopperBlock* best = nullptr;
  if (hopper && region.splits_columns && work.rows >= large_product_block &&
      region.width >= large_product_block) {
    // TMA fetches boxes of powers of two.
    const bool may_be_wide =
        !work.has_functions && region.width >= hopper_columns && work.facts.depth >= blocks.depth;
    best = &fastest_block(region, work, may_be_wide);
    size = best->rows;
    if (const auto columns = narrow_columns(region, work)) {
      blocks.rows = large_product_block;
      blocks.columns = *columns;
      if (*columns == fewest_columns) blocks.depth *= 2;
      blocks.chunk = prologue_elements / large_product_block;
      return;
    }
  }
  blocks.rows = std::min(work.rows, size);
  if (region.splits_columns) {
    if (few) {
      std::int64_t share = power(region.width * (region.rows / work.rows) / many_programs);
      size = std::clamp(share, fewest_columns, few_rows_columns);
      blocks.depth = few_rows_elements / size;
    }
    blocks.columns = std::min(region.width, best == nullptr ? size : best->columns);
    blocks.chunk = prologue_elements / power(blocks.rows);
    return;
  }
  while (blocks.rows > few_rows && power(blocks.rows) * power(work.facts.widest) > most_elements)
    blocks.rows /= 2;
  blocks.columns = region.width;
  blocks.chunk = most_elements / power(std::max(blocks.rows, few_rows));
}

// Rows that tensor cores would have to be filled up for.
bool sums_elements(const Region& region, const Work& work) {
  std::int64_t most = work.facts.on_tensor_cores ? 2 : 4;
  return region.splits_columns && work.rows <= most;
}

// A thread reads several 16 bytes of the weights at a time, neighbouring threads along the axis in
// which these are contiguous. Where each program reduces rows first, it has more to do with them.
void few_row_blocks(const Region& region, const Work& work, RowBlocks& blocks) {
  const RegionFacts& facts = work.facts;
  blocks.sums_elements = true;
  blocks.rows = work.rows;
  std::int64_t elements = facts.reduces || work.rows > 1 ? most_elements / 2 : most_elements / 4;
  elements /= power(blocks.rows);
  if (facts.weights_along_depth) {
    std::int64_t columns = facts.reduces ? few_rows_reduced_columns : few_rows_columns_apart;
    blocks.depth = std::min(power(facts.depth), elements / columns);
    blocks.columns = std::min(region.width, elements / blocks.depth);
  } else {
    blocks.columns = std::min(region.width, few_rows_columns_along);
    blocks.depth = elements / power(blocks.columns);
  }
  blocks.chunk = prologue_elements / power(blocks.rows);
}

// A few more rows are filled up for tensor cores: rows beyond are read as zeros and not stored.
bool fills_up_rows(const Region& region, const Work& work, const RowBlocks& blocks) {
  return region.splits_columns && work.facts.on_tensor_cores && blocks.digit &&
         work.rows <= few_rows;
}
void filled_row_blocks(const Region& region, const Work& work, RowBlocks& blocks) {
  blocks.rows_fastest = true;
  blocks.rows = few_rows;
  blocks.columns = std::min(region.width, filled_rows_columns);
  blocks.depth = std::min(power(work.facts.depth), filled_rows_depth);
  blocks.chunk = prologue_elements / few_rows;
}

// How many programs share inner axes, where there are too few otherwise.
std::int64_t splits_of(const Region& region, const Work& work, const dsl::Target& target,
                       const RowBlocks& blocks) {
  std::int64_t wide = target.gpu().multiprocessors;
  std::int64_t programs = divide_up(work.rows, blocks.rows) * (region.rows / work.rows) *
                          divide_up(region.width, blocks.columns);
  if (10 * programs >= 9 * wide) return 1;  // what is handed on costs more than a few idle ones
  const bool narrow = target.gpu().has_warpgroup_products && blocks.columns < blocks.rows;
  if (narrow && 2 * programs >= wide) return 1;
  std::int64_t splits =
      std::min({divide_up(programs_a_multiprocessor * wide, programs),
                work.facts.depth / std::max(least_split_depth, 2 * blocks.depth), most_splits});
  return std::max<std::int64_t>(1, splits);
}

std::int64_t count_products(const TaskList& list, const Region& region) {
  return std::ranges::count(region.tasks, TaskKind::contraction,
                            [&](TaskId id) { return list.tasks[id].kind; });
}

// A value in the band's columns may come from there alone.
bool may_cut_columns(const TaskList& list, const Region& region) {
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot)
    if (std::int64_t width = region.tables[slot].width;
        list.tasks[region.tasks[slot]].kind == TaskKind::contraction && width != 1 &&
        width != region.width)
      return false;
  return true;
}

void choose_stream_k(const TaskList& list, const Region& region, const Work& work,
                     const dsl::Target& target, const BlockSizes& requested, RowBlocks& blocks) {
  const RegionFacts& facts = work.facts;
  bool is_requested = requested.tail != 0, is_forced = requested.tail > 0;
  if (facts.reduces || (!is_requested && (blocks.splits > 1 || requested.splits != 0))) return;
  if (!is_forced && (blocks.sums_elements || work.rows <= few_rows)) return;
  StreamKWork tiles{
      .tables = region.rows / work.rows,
      .row_tiles = divide_up(work.rows, blocks.rows),
      .column_tiles = divide_up(region.width, blocks.columns),
      .rows = blocks.rows,
      .columns = blocks.columns,
      .depth = facts.depth,
      .steps = blocks.depth == 0 ? 1 : divide_up(facts.depth, blocks.depth),
      .products = count_products(list, region),
      .element_bytes = facts.weight_element_bytes,
      .operand_bytes = region.weight_bytes + region.rows * facts.depth * facts.weight_element_bytes,
      .may_cut_columns = may_cut_columns(list, region)};
  StreamKRequest request{.tiles = is_forced ? requested.tail : 0, .splits = requested.splits};
  if (is_requested) request.least_saving = 0;
  std::optional<StreamKBand> band = plan_stream_k(tiles, target, request);
  if (!band) return;
  blocks.splits = band->splits;
  if (band->of_columns)
    blocks.stream_k_columns = band->tiles * blocks.columns;
  else
    blocks.stream_k_rows = band->tiles * blocks.rows;
}

void pointwise_blocks(const Region& region, const Work& work, bool turns_over, RowBlocks& blocks) {
  bool many = region.rows * region.width >= many_pointwise_elements * many_programs;
  std::int64_t elements = many ? many_pointwise_elements : pointwise_elements;
  if (turns_over) {
    blocks.rows = std::min(work.rows, turned);
    blocks.columns = std::min(region.width, turned);
  } else if (blocks.columns_first) {
    blocks.rows = std::min(work.rows, elements);
    blocks.columns = std::min(region.width, elements / power(blocks.rows));
  } else {
    blocks.columns = std::min(region.width, elements);
    blocks.rows = std::min(work.rows, elements / power(blocks.columns));
  }
}

// Rows that are reduced.
void row_blocks(const Region& region, const Work& work, RowBlocks& blocks) {
  std::int64_t width = power(work.facts.widest);
  blocks.columns = region.width;
  blocks.rows = std::max<std::int64_t>(1, row_elements / width);
  if (blocks.columns_first) blocks.rows = std::max(blocks.rows, coalesced_rows);
  blocks.rows = std::min(work.rows, blocks.rows);
  if (power(blocks.rows) * width > most_elements) blocks.chunk = long_chunk / power(blocks.rows);
}

// True if programs can go through parts of one row and need to exchange only their reductions: all
// wide values are equally wide, and nothing is found by its place in the row.
bool may_share_rows(const TaskList& list, const Region& region, const Work& work) {
  auto fits = [&](std::int64_t width) { return width == 1 || width == work.facts.widest; };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    std::int64_t width = region.tables[slot].width;
    bool finds = task.reduce == ir::ReduceKind::argmax || task.reduce == ir::ReduceKind::argmin ||
                 task.reduce == ir::ReduceKind::any || task.reduce == ir::ReduceKind::all;
    bool reduces = task.kind == TaskKind::reduction;
    if ((reduces && finds) || (task.kind != TaskKind::pointwise && !reduces) || !fits(width) ||
        (reduces && !fits(operand_table(task, 0, region.tables[slot])->width)) ||
        (region.is_in_place && region.stored[slot] && width == 1))
      return false;
  }
  return !region.splits_columns && !work.facts.one_row;
}

// True if so many programs can hold a row in registers, each an equal share: with masks for
// elements outside of it code would be three times as long.
bool holds_row(std::int64_t width, std::int64_t programs) {
  std::int64_t share = width / programs;
  return share * programs == width && std::has_single_bit(static_cast<std::uint64_t>(share)) &&
         share >= share_quantum && share <= most_elements;
}

// How many programs share a row. A long row is written after it was reduced: programs that hold it
// in registers together read it once. And of few rows each is shared by so many as there are
// multiprocessors for.
std::int64_t programs_of_a_row(const Region& region, const Work& work, const dsl::Target& target) {
  std::int64_t width = work.facts.widest, rows = region.rows, result = 1;
  bool stores_rows = false;
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot)
    stores_rows = stores_rows || (region.stored[slot] && region.tables[slot].width == width);
  bool fits = stores_rows && holds_row(width, most_sharing_programs);
  for (std::int64_t size = 2; size <= most_sharing_programs; size *= 2)
    if ((fits && width > result * most_elements) ||
        (rows * size <= target.gpu().multiprocessors && width / size >= least_share))
      result = size;
  return result;
}

void share_rows(const TaskList& list, const Region& region, const Work& work,
                const dsl::Target& target, std::int64_t requested, RowBlocks& blocks) {
  std::int64_t width = work.facts.widest;
  if (!target.gpu().has_clusters || blocks.chunk == 0 || blocks.rows != 1 || blocks.columns_first ||
      !work.facts.reduces || !may_share_rows(list, region, work))
    return;
  std::int64_t cluster = settled(requested, programs_of_a_row(region, work, target));
  if (cluster == 1) return;
  blocks.cluster = cluster;
  // A program reads a row once if it can hold it.
  std::int64_t share = divide_up(width, cluster);
  blocks.chunk = holds_row(width, cluster) ? share : long_chunk;
  blocks.share = divide_up(share, blocks.chunk) * blocks.chunk;
}

// Chunks of one value may overwrite what those of another, of other width, have yet to read, and
// whole rows that products of later ones do.
bool may_store_in_chunks(const Region& region, bool has_product, std::int64_t chunk) {
  std::int64_t width = 0;
  if (region.is_in_place && has_product) return false;
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    if (!region.stored[slot] || region.tables[slot].width <= chunk) continue;
    if (width != 0 && region.tables[slot].width != width) return !region.is_in_place;
    width = region.tables[slot].width;
  }
  return true;
}

}  // namespace

RowBlocks choose_gpu_blocks(const TaskList& list, const Region& region, const dsl::Target& target,
                            const BlockSizes& requested) {
  Work work{facts_of(list, region)};
  work.has_functions = has_functions(list, region);
  work.multiprocessors = target.gpu().multiprocessors;
  RowBlocks blocks;
  blocks.coalesces = true;
  blocks.digit = work.facts.digit;
  blocks.has_product = work.facts.has_product;
  bool turns_over = false;
  if (!work.facts.has_product && !work.facts.one_row) {
    Contiguity contiguous = contiguity_of(list, region);
    blocks.columns_first = contiguous.along_digit > contiguous.along_columns;
    turns_over =
        region.splits_columns && contiguous.along_digit > 0 && contiguous.along_columns > 0;
    if (blocks.columns_first || turns_over) blocks.digit = contiguous.digit;
  }
  if (blocks.digit) work.rows = work.facts.digits[*blocks.digit];
  if (work.facts.has_product && sums_elements(region, work))
    few_row_blocks(region, work, blocks);
  else if (work.facts.has_product && fills_up_rows(region, work, blocks))
    filled_row_blocks(region, work, blocks);
  else if (work.facts.has_product)
    product_blocks(region, work,
                   target.gpu().has_warpgroup_products && work.facts.has_fetched_operands, blocks);
  else if (region.splits_columns)
    pointwise_blocks(region, work, turns_over, blocks);
  else
    row_blocks(region, work, blocks);
  blocks.rows = settled(requested.rows, blocks.rows, work.rows);
  if (region.splits_columns)
    blocks.columns = settled(requested.columns, blocks.columns, region.width);
  blocks.chunk = settled(requested.chunk, blocks.chunk);
  if (blocks.has_product) blocks.depth = settled(requested.depth, blocks.depth);
  blocks.depth_quantum = work.facts.depth_quantum;
  bool may_split = region.splits_columns && work.facts.has_product &&
                   work.facts.products_come_first && !region.is_in_place;
  if (may_split)
    blocks.splits =
        settled(requested.splits, splits_of(region, work, target, blocks), work.facts.depth);
  if (may_split) choose_stream_k(list, region, work, target, requested, blocks);
  if (blocks.chunk != 0 && !may_store_in_chunks(region, work.facts.has_product, blocks.chunk))
    blocks.chunk = 0;
  if (work.facts.has_product)
    blocks.cluster = target.gpu().has_clusters ? settled(requested.cluster, 1) : 1;
  else
    share_rows(list, region, work, target, requested.cluster, blocks);
  return blocks;
}

}  // namespace tilewright::graph
