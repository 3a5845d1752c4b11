#include "graph/lower/block_sizes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dsl/target/packed_product.h"
#include "graph/lower/product_cost.h"
#include "graph/regions/region_facts.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t row_elements = 2 << 10;    // of rows that are gone through repeatedly
constexpr std::int64_t tile_elements = 16 << 10;  // of one program's widest value
constexpr std::int64_t small_elements = 8 << 10;  // not worth a second program
constexpr std::int64_t programs_a_thread = 4;
constexpr std::int64_t panel_bytes = 1 << 20;  // of a product's weights, half of an L2
constexpr std::int64_t product_rows = 192, least_product_rows = 16;
constexpr std::int64_t operand_bytes = 512 << 10;  // of a product's first operand, for the L2 too
constexpr std::int64_t turned_rows = 64, turned_columns = 16;  // of a block that is turned over
constexpr std::int64_t contiguous_rows = 64;                   // of tiles whose rows are contiguous
constexpr std::int64_t run_bytes = 256;      // of memory that is read at once, at least
constexpr std::int64_t column_quantum = 64;  // whole vectors, whole cache lines
constexpr std::int64_t cache_line = 64;      // bytes
constexpr std::int64_t widest_element = 8;   // likewise
// How many elements a GPU's program has that adds up parts of products.
constexpr std::int64_t least_combined_elements = 256, most_combined_elements = 1 << 10;

std::int64_t round_up(std::int64_t x, std::int64_t quantum) {
  return (x + quantum - 1) / quantum * quantum;
}
}  // namespace

ProductExtent product_extent(const Region& region, const RegionFacts& facts, std::int64_t rows,
                             const dsl::Target& host) {
  const std::int64_t bytes = facts.multiplied ? 4 / dsl::packed_word(host, *facts.multiplied) : 4;
  // Of a class of numbers of rows, as many products as there are of the region's own number.
  const std::int64_t own = facts.digit ? facts.digits[*facts.digit] : 1;
  ProductExtent product{region.rows / own, rows,  region.width,
                        facts.depth,       bytes, facts.weight_element_bytes};
  if (!facts.weights_along_depth) product.least_columns = run_bytes / facts.weight_element_bytes;
  product.panel_width = facts.panel_width;
  return product;
}

namespace {

// Bytes of the largest element that the region writes.
std::int64_t stored_bytes(const TaskList& list, const Region& region) {
  std::int64_t bytes = 0;
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot)
    if (region.stored[slot])
      bytes = std::max<std::int64_t>(bytes, size_bytes(list.tasks[region.tasks[slot]].dtype));
  return bytes;
}

// Numbers of rows that share a program, from `least` on. Fusion goes by the same bounds: up to
// where products compute their weights, and what they multiply.
struct SizeClass {
  std::int64_t least;
  std::int64_t typical;  // for which blocks are chosen
  std::int64_t most;     // rows of a block
};
constexpr SizeClass size_classes[] = {{1, 1, 1},
                                      {2, 8, 16},
                                      {16, 32, dsl::PackedProduct::least_rows - 1},
                                      {dsl::PackedProduct::least_rows, 512, 512}};
constexpr SizeClass any_rows{1, 512, 512};  // where there is no product

SizeClass size_class_of(std::int64_t rows) {
  SizeClass result = size_classes[0];
  for (const SizeClass& one : size_classes)
    if (one.least <= rows) result = one;
  return result;
}

// How many rows tiles have that have place for so many: of products that are packed whole blocks of
// accumulators.
std::int64_t rows_with_place(std::int64_t rows, const RegionFacts& facts, const dsl::Target& host) {
  if (!facts.has_product || rows < dsl::PackedProduct::least_rows) return rows;
  const std::int64_t in_word =
      facts.multiplied ? dsl::elements_in_word(host, *facts.multiplied) : 1;
  return round_up(rows, dsl::PackedProduct::whole_blocks(host, in_word));
}

// How many rows of a product each program has, in tiles of the sizes of `blocks`, for least cost:
// equal parts, but for what is multiplied at once. Where tiles are packed fewer rows are too.
std::int64_t cheapest_step(const ProductExtent& product, const dsl::Target& host,
                           const RowBlocks& blocks, int threads) {
  constexpr std::int64_t at_once = 8;
  const std::int64_t least =
      blocks.rows < dsl::PackedProduct::least_rows ? at_once : dsl::PackedProduct::least_rows;
  std::int64_t best = blocks.rows;
  double cycles = HUGE_VAL;
  for (std::int64_t parts = divide_up(product.rows, blocks.rows);; ++parts) {
    const std::int64_t step =
        std::min(blocks.rows, round_up(divide_up(product.rows, parts), at_once));
    if (step < least) return best;
    const double cost = product_cycles(product, host, step, blocks.columns, threads);
    if (cost < cycles) best = step;
    cycles = std::min(cost, cycles);
    if (step == least) return best;
  }
}

RowBlocks choose_host_blocks(const TaskList& list, const Region& region, const dsl::Target& host,
                             const BlockSizes& requested) {
  RegionFacts facts = facts_of(list, region);
  RowBlocks blocks;
  blocks.digit = facts.digit;
  blocks.has_product = facts.has_product;
  const bool splits_columns = cuts_columns(region, host);
  bool turns_over = false;
  if (!facts.has_product && !facts.one_row) {
    Contiguity contiguous = contiguity_of(list, region);
    blocks.columns_first = contiguous.along_digit > contiguous.along_columns;
    turns_over = splits_columns && contiguous.along_digit > 0 && region.width > turned_columns &&
                 contiguous.along_columns > 0;
    if (blocks.columns_first || turns_over) facts.digit = blocks.digit = contiguous.digit;
  }
  blocks.rows_fastest = facts.has_product || turns_over;
  const std::int64_t own_rows = facts.digit ? facts.digits[*facts.digit] : 1;
  const bool takes_rows =
      region.sizes_vary && blocks.digit && own_rows > 1 && !facts.scatters_elements;
  const SizeClass size_class = facts.has_product ? size_class_of(own_rows) : any_rows;
  const std::int64_t rows = takes_rows ? size_class.typical : own_rows;
  const std::int64_t threads = thread_count(), outer = region.rows / own_rows;
  const std::int64_t all_rows = outer * rows;
  blocks.outer_fastest = !blocks.rows_fastest && !blocks.columns_first && outer > 1 &&
                         region.width * stored_bytes(list, region) < cache_line;
  std::int64_t programs = threads == 1 ? 1 : programs_a_thread * threads;

  // Products of many rows pack what they multiply. (Computed weights, and a first operand that is
  // computed, lie in memory over the whole depth: not cheap as often as another program wants
  // them.)
  bool by_cost = splits_columns && facts.has_product && !facts.computes_weights &&
                 region.width >= host.lanes &&
                 (rows >= dsl::PackedProduct::least_rows || region.weight_bytes > 128 << 10);
  ProductBlock cheapest{};
  if (by_cost) {
    cheapest = cheapest_product_block(product_extent(region, facts, rows, host), host,
                                      static_cast<int>(threads));
  }

  blocks.columns = region.width;
  if (splits_columns && facts.has_product) {
    std::int64_t panel = panel_bytes / (facts.depth * facts.element_bytes);
    std::int64_t share = divide_up(region.width, std::max<std::int64_t>(1, threads / outer));
    std::int64_t size = std::max(column_quantum, round_up(std::min(panel, share), column_quantum));
    // Few rows: weights are read once, so only the threads count; but computed ones, unless each
    // is used as it is made, lie in a cache for a while.
    if (facts.computes_weights && rows * outer > 1)
      size = std::max(column_quantum / 4, panel_bytes / 4 / (facts.depth * facts.element_bytes));
    else if (rows * outer <= 8)
      size = round_up(share, column_quantum);
    if (by_cost)
      blocks.columns = cheapest.columns;
    else if (region.weight_bytes > 128 << 10)
      blocks.columns = std::min(region.width, size);
  } else if (splits_columns) {
    std::int64_t share = divide_up(region.width * all_rows, programs);
    std::int64_t size = std::clamp(round_up(share, 1024), std::int64_t{1024}, tile_elements);
    // Equal blocks: the last one is moved back to end with the row, and what it shares with the one
    // before is computed twice.
    if (region.width > small_elements)
      blocks.columns = std::min(
          region.width,
          round_up(divide_up(region.width, divide_up(region.width, size)), column_quantum));
  }
  if (turns_over) blocks.columns = turned_columns;
  if (splits_columns) blocks.columns = settled(requested.columns, blocks.columns, region.width);
  blocks.panel_width = facts.panel_width;
  if (const std::int64_t panel = facts.panel_width; splits_columns && panel != 0)
    blocks.columns = std::min(round_up(blocks.columns, panel), region.width / panel * panel);

  std::int64_t width = splits_columns ? blocks.columns : facts.widest;
  std::int64_t elements = splits_columns ? tile_elements : row_elements;
  std::int64_t most = std::max<std::int64_t>(1, elements / width);
  if (by_cost)
    most = takes_rows && rows < dsl::PackedProduct::least_rows ? size_class.most : cheapest.rows;
  else if (facts.has_product && splits_columns)
    most = std::clamp(operand_bytes / (facts.depth * facts.element_bytes), least_product_rows,
                      product_rows);
  const std::int64_t most_in_tiles = most, column_blocks = divide_up(region.width, blocks.columns);
  if (!by_cost && outer * own_rows * facts.widest > small_elements)
    most = std::min(most, std::max<std::int64_t>(
                              1, divide_up(own_rows, divide_up(programs, outer * column_blocks))));
  if (blocks.columns_first) most = std::max(most, contiguous_rows);
  if (turns_over) most = turned_rows;
  blocks.rows = settled(requested.rows, std::min(own_rows, most), own_rows);
  if (takes_rows) {
    const std::int64_t place = blocks.columns_first || turns_over ? most : most_in_tiles;
    const std::int64_t own = rows_with_place(std::min(place, size_class.most), facts, host);
    const std::int64_t with_place = settled(requested.rows, own);
    blocks.step = std::min(blocks.rows, with_place);
    blocks.rows = with_place;
  }
  blocks.prefetches = !facts.has_product && !blocks.columns_first && !blocks.rows_fastest &&
                      all_rows > 1 &&
                      facts.widest * widest_element >= RowBlocks::prefetched_row_bytes;
  if (blocks.prefetches)
    blocks.ahead = all_rows > blocks.rows || region.sizes_vary ? settled(requested.ahead, 1) : -1;
  blocks.sums_elements = facts.computes_weights && all_rows == 1;
  blocks.depth_quantum = facts.depth_quantum;
  bool may_split = facts.has_product && facts.products_come_first && splits_columns;
  if (may_split) blocks.splits = settled(requested.splits, 1, facts.depth);
  if (by_cost && blocks.splits == 1)
    blocks.stored_chunk =
        tiled_chunk(product_extent(region, facts, rows, host), host, blocks.rows, blocks.columns);
  blocks.takes_rows = takes_rows && blocks.splits == 1;
  if (blocks.takes_rows && by_cost)
    blocks.step = cheapest_step(product_extent(region, facts, own_rows, host), host, blocks,
                                static_cast<int>(threads));
  return blocks;
}

}  // namespace

std::int64_t least_of_size_class(std::int64_t rows) { return size_class_of(rows).least; }

bool cuts_columns(const Region& region, const dsl::Target& target) {
  return region.splits_columns && (target.is_gpu() || !region.is_in_place);
}

BlockSizes sizes_of(const RowBlocks& blocks) {
  BlockSizes all = blocks, sizes;
  all.tail = blocks.stream_k_rows / blocks.rows + blocks.stream_k_columns / blocks.columns;
  for (const BlockSize& one : all_block_sizes())
    if (all.*one.size > one.told_above) sizes.*one.size = all.*one.size;
  return sizes;
}

RowBlocks choose_blocks(const TaskList& list, const Region& region, const dsl::Target& target,
                        const BlockSizes& requested) {
  return target.is_gpu() ? choose_gpu_blocks(list, region, target, requested)
                         : choose_host_blocks(list, region, target, requested);
}

Shape shared_part(const Region& region, const RowBlocks& blocks) {
  Shape part{region.rows, region.width};
  if (blocks.stream_k_rows != 0) part[0] /= region.digits.sizes()[*blocks.digit];
  if (blocks.stream_k_rows != 0) part[0] *= blocks.stream_k_rows;
  if (blocks.stream_k_columns != 0) part[1] = blocks.stream_k_columns;
  return part;
}

RowBlocks combining_blocks(const Region& region, const dsl::Target& target,
                           const RowBlocks& blocks) {
  RowBlocks result = blocks;
  result.has_product = result.sums_elements = false;
  result.depth = result.stored_chunk = 0;
  result.cluster = 1;
  if (!target.is_gpu()) return result;
  // As many programs as there is work for.
  Shape part = shared_part(region, blocks);
  std::int64_t share = element_count(part) / target.gpu().multiprocessors;
  std::int64_t elements =
      std::clamp(static_cast<std::int64_t>(
                     std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, share)))),
                 least_combined_elements, most_combined_elements);
  result.columns = std::min(part[1], elements);
  result.rows = std::min(blocks.rows, std::max<std::int64_t>(1, elements / result.columns));
  return result;
}

}  // namespace tilewright::graph
