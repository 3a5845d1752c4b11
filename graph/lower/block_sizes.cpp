#include "graph/lower/block_sizes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "dsl/target/packed_product.h"
#include "dsl/target/step_rows.h"
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
constexpr std::int64_t panel_bytes = 1 << 20;      // of a product's weights, half of an L2
constexpr std::int64_t large_weights = 128 << 10;  // bytes that are not read whole by each program
constexpr std::int64_t product_rows = 192, least_product_rows = 16;
constexpr std::int64_t operand_bytes = 512 << 10;  // of a product's first operand, for the L2 too
constexpr std::int64_t turned_rows = 64, turned_columns = 16;  // of a block that is turned over
constexpr std::int64_t contiguous_rows = 64;                   // of tiles whose rows are contiguous
constexpr std::int64_t run_bytes = 256;      // of memory that is read at once, at least
constexpr std::int64_t least_run = 8;        // elements of short rows that are adjacent
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
  // For a class of numbers of rows, as many products as there are of the region's own number.
  const std::int64_t own = facts.digit ? facts.digits[*facts.digit] : 1;
  ProductExtent product{region.rows / own, rows,  region.width,
                        facts.depth,       bytes, facts.weight_element_bytes};
  if (!facts.weights_along_depth) {
    product.least_columns = run_bytes / facts.weight_element_bytes;
    // Rows of i8 are interleaved, a register of each (codegen/host/emit_interleaved_dot.cpp).
    if (bytes == 1) product.column_quantum = 4 * host.lanes;
  }
  product.panel_width = facts.panel_width;
  product.along_depth = facts.weights_along_depth;
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
// Where the rows of a step are summed alike, all of them share a program.
constexpr SizeClass step_rows{2, 8, dsl::rows_of_a_step};
constexpr SizeClass any_rows{1, 512, 512};  // where there is no product

SizeClass size_class_of(std::int64_t rows, bool row_invariant = false) {
  if (row_invariant && rows == step_rows.most) return step_rows;
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

// The digit that is cut and the direction come first, then columns, then rows, by what is left of a
// tile and for the threads.
class HostBlocks {
 public:
  HostBlocks(const TaskList& list, const Region& region, const dsl::Target& host,
             const BlockSizes& requested)
      : list_(list),
        region_(region),
        host_(host),
        requested_(requested),
        facts_(facts_of(list, region)),
        splits_columns_(cuts_columns(region, host)) {}

  RowBlocks choose() {
    choose_direction();
    count_rows();
    // Products of many rows pack what they multiply. (Computed weights, and a first operand that is
    // computed, lie in memory over the whole depth: not cheap as often as another program wants
    // them.)
    if (splits_columns_ && facts_.has_product && !facts_.computes_weights &&
        region_.width >= host_.lanes &&
        (rows_ >= dsl::PackedProduct::least_rows || has_large_weights()))
      cheapest_ = cheapest_product_block(product(rows_), host_, static_cast<int>(threads_));
    choose_columns();
    choose_rows();
    choose_prefetches();
    choose_product();
    return blocks_;
  }

 private:
  bool has_short_rows() const { return region_.width * stored_bytes(list_, region_) < cache_line; }
  bool has_large_weights() const { return region_.weight_bytes > large_weights; }
  ProductExtent product(std::int64_t rows) const {
    ProductExtent result = product_extent(region_, facts_, rows, host_);
    // Rows of words are interleaved, in whole registers (codegen/host/emit_interleaved_dot.cpp).
    if (list_.row_invariant && !facts_.weights_along_depth && facts_.multiplied &&
        host_.has_fast_pairs)
      if (const std::int64_t in_word = dsl::elements_in_word(host_, *facts_.multiplied);
          in_word > 1)
        result.column_quantum = in_word * host_.lanes;
    return result;
  }

  void choose_direction() {
    blocks_.digit = facts_.digit;
    blocks_.has_product = facts_.has_product;
    if (!facts_.has_product && !facts_.one_row) {
      const Contiguity contiguous = contiguity_of(list_, region_);
      blocks_.columns_first = contiguous.along_digit > contiguous.along_columns;
      turns_over_ = splits_columns_ && contiguous.along_digit > 0 &&
                    region_.width > turned_columns && contiguous.along_columns > 0;
      if (blocks_.columns_first || turns_over_)
        facts_.digit = blocks_.digit = contiguous.digit;
      else if (has_short_rows() && contiguous.digit_of_rows &&
               facts_.digits[*contiguous.digit_of_rows] * region_.width >= least_run)
        facts_.digit = blocks_.digit = contiguous.digit_of_rows;
    }
    blocks_.rows_fastest = facts_.has_product || turns_over_;
  }

  void count_rows() {
    own_rows_ = facts_.digit ? facts_.digits[*facts_.digit] : 1;
    takes_rows_ = region_.sizes_vary && blocks_.digit && own_rows_ > 1 && !facts_.scatters_elements;
    size_class_ = facts_.has_product ? size_class_of(own_rows_, list_.row_invariant) : any_rows;
    // Tiles of AMX add up in an order of their own.
    if (list_.row_invariant && own_rows_ <= dsl::rows_of_a_step) host_.has_tiles = false;
    rows_ = takes_rows_ ? size_class_.typical : own_rows_;
    threads_ = planned_threads();
    outer_ = region_.rows / own_rows_;
    programs_ = threads_ == 1 ? 1 : programs_a_thread * threads_;
    blocks_.outer_fastest =
        !blocks_.rows_fastest && !blocks_.columns_first && outer_ > 1 && has_short_rows();
  }

  void choose_columns() {
    blocks_.columns = region_.width;
    if (cheapest_)
      blocks_.columns = cheapest_->columns;
    else if (splits_columns_ && facts_.has_product)
      blocks_.columns = columns_of_product();
    else if (splits_columns_ && region_.width > small_elements)
      blocks_.columns = equal_columns();
    if (turns_over_) blocks_.columns = turned_columns;
    if (splits_columns_)
      blocks_.columns = settled(requested_.columns, blocks_.columns, region_.width);
    blocks_.panel_width = facts_.panel_width;
    if (const std::int64_t panel = facts_.panel_width; splits_columns_ && panel != 0)
      blocks_.columns = std::min(round_up(blocks_.columns, panel), region_.width / panel * panel);
  }
  std::int64_t columns_of_product() const {
    if (!has_large_weights()) return region_.width;
    const std::int64_t column_bytes = facts_.depth * facts_.element_bytes;
    const std::int64_t share =
        divide_up(region_.width, std::max<std::int64_t>(1, threads_ / outer_));
    std::int64_t size = std::max(
        column_quantum, round_up(std::min(panel_bytes / column_bytes, share), column_quantum));
    // Few rows: weights are read once, so only the threads count; but computed ones, unless each
    // is used as it is made, lie in a cache for a while.
    if (facts_.computes_weights && rows_ * outer_ > 1)
      size = std::max(column_quantum / 4, panel_bytes / (goes_by_tiles() ? 2 : 4) / column_bytes);
    else if (rows_ * outer_ <= 8)
      size = round_up(share, column_quantum);
    return std::min(region_.width, size);
  }
  // The rows are packed for each block of columns.
  bool goes_by_tiles() const {
    return facts_.weights_along_depth && dsl::is_turned(host_, 4 / product(rows_).element_bytes,
                                                        rows_, region_.width, facts_.depth);
  }
  // The last block is moved back to end with the row, and what it shares with the one before is
  // computed twice.
  std::int64_t equal_columns() const {
    const std::int64_t share = divide_up(region_.width * outer_ * rows_, programs_);
    const std::int64_t size = std::clamp(round_up(share, 1024), std::int64_t{1024}, tile_elements);
    const std::int64_t blocks = divide_up(region_.width, size);
    return std::min(region_.width, round_up(divide_up(region_.width, blocks), column_quantum));
  }

  void choose_rows() {
    const std::int64_t in_tiles = rows_of_a_tile();
    std::int64_t most = in_tiles;
    if (!cheapest_ && outer_ * own_rows_ * facts_.widest > small_elements) {
      const std::int64_t others = outer_ * divide_up(region_.width, blocks_.columns);
      most = std::min(
          most, std::max<std::int64_t>(1, divide_up(own_rows_, divide_up(programs_, others))));
    }
    if (blocks_.columns_first) most = std::max(most, contiguous_rows);
    if (turns_over_) most = turned_rows;
    // Blocks may overlap, and a row's sum may not depend on which of them has it.
    if (facts_.has_product && !cheapest_ && most > rows_alike && most < own_rows_)
      most -= most % rows_alike;
    blocks_.rows = settled(requested_.rows, std::min(own_rows_, most), own_rows_);
    if (!takes_rows_) return;
    const std::int64_t place = blocks_.columns_first || turns_over_ ? most : in_tiles;
    const std::int64_t own = rows_with_place(std::min(place, size_class_.most), facts_, host_);
    const std::int64_t with_place = settled(requested_.rows, own);
    blocks_.step = std::min(blocks_.rows, with_place);
    blocks_.rows = with_place;
  }
  std::int64_t rows_of_a_tile() const {
    if (cheapest_)
      return takes_rows_ && rows_ < dsl::PackedProduct::least_rows ? size_class_.most
                                                                   : cheapest_->rows;
    if (facts_.has_product && splits_columns_)
      return std::clamp(operand_bytes / (facts_.depth * facts_.element_bytes), least_product_rows,
                        product_rows);
    return std::max<std::int64_t>(
        1, splits_columns_ ? tile_elements / blocks_.columns : row_elements / facts_.widest);
  }

  void choose_prefetches() {
    const std::int64_t all_rows = outer_ * rows_;
    blocks_.prefetches = !facts_.has_product && !blocks_.columns_first && !blocks_.rows_fastest &&
                         all_rows > 1 &&
                         facts_.widest * widest_element >= RowBlocks::prefetched_row_bytes;
    if (blocks_.prefetches)
      blocks_.ahead =
          all_rows > blocks_.rows || region_.sizes_vary ? settled(requested_.ahead, 1) : -1;
  }

  void choose_product() {
    blocks_.sums_elements =
        facts_.computes_weights && rows_ == 1 && (outer_ == 1 || facts_.looks_up_weights);
    blocks_.depth_quantum = facts_.depth_quantum;
    if (facts_.has_product && facts_.products_come_first && splits_columns_)
      blocks_.splits = settled(requested_.splits, 1, facts_.depth);
    blocks_.takes_rows = takes_rows_ && blocks_.splits == 1;
    if (!cheapest_) return;
    if (blocks_.splits == 1)
      blocks_.stored_chunk = tiled_chunk(product(rows_), host_, blocks_.rows, blocks_.columns);
    if (blocks_.takes_rows)
      blocks_.step = cheapest_step(product(own_rows_), host_, blocks_, static_cast<int>(threads_));
  }

  const TaskList& list_;
  const Region& region_;
  dsl::Target host_;
  const BlockSizes& requested_;
  RegionFacts facts_;
  bool splits_columns_;
  bool turns_over_ = false, takes_rows_ = false;
  SizeClass size_class_ = any_rows;
  // Rows of the digit, there and as many as blocks are chosen for; and of the other digits.
  std::int64_t own_rows_ = 1, rows_ = 1, outer_ = 1;
  std::int64_t threads_ = 1, programs_ = 1;
  std::optional<ProductBlock> cheapest_;  // of a product whose block follows from its cost
  RowBlocks blocks_;
};

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
                         : HostBlocks(list, region, target, requested).choose();
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
