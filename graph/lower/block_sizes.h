// How a region's table is cut among programs: which digit of its rows, an axis that they go along
// (regions/region.h), is cut into blocks, and how large blocks of rows and columns are: of a
// product block_m and block_n. block_sizes.cpp decides for the host, where sizes of caches and
// numbers of threads count, by the costs in product_cost.h, gpu_block_sizes.cpp for GPUs; attention
// and convolutions, which are not tables of rows, have their own. A host's program has few and
// large blocks, whose tiles lie in caches; a GPU's has many, whose tiles lie in registers, and goes
// through larger rows in chunks.
#pragma once

#include "graph/lower/lower.h"
#include "graph/lower/product_cost.h"
#include "graph/regions/region_facts.h"

namespace tilewright::graph {

// Rows of a product that the host multiplies alike: sums of a smaller rest of them, in registers,
// are made in another order (dsl/codegen/host/emit_dot.cpp).
inline constexpr std::int64_t rows_alike = 8;

// All sizes are decided. Wider rows than `chunk` are reduced and stored in chunks of that many
// columns, one after the other, and a product's inner axis is gone through in steps of `depth`; 0:
// all at once. `splits` programs share the inner axes of the region's products, of which each makes
// a part. A `cluster` of 1, 2, 4 or 8 programs runs together: for rows each takes a part of the
// columns, and they combine their reductions; for products they may fetch shared operands once.
struct RowBlocks : BlockSizes {
  RowBlocks() : BlockSizes{.rows = 1, .columns = 1, .splits = 1, .cluster = 1} {}
  std::optional<std::size_t> digit;  // that is cut in blocks; none: one row a program
  // How many rows the digit has is an argument of the program, and how many of them each program
  // of a launch has: `step`, at most `rows`, which its tiles have place for.
  bool takes_rows = false;
  std::int64_t step = 0;
  bool has_product = false;
  // Neighbouring programs have neighbouring rows, not columns: they share a product's weights, or
  // go along memory that is contiguous by rows.
  bool rows_fastest = false;
  // Neighbouring programs differ by digits that are not cut: rows are shorter than a line of the
  // cache, and their neighbours in it are theirs.
  bool outer_fastest = false;
  // Tiles are [columns, rows]: memory is contiguous along rows, as in a sum over the first axis.
  bool columns_first = false;
  // On a host with tiles a product's block packs its rows once, and multiplies and stores this many
  // columns before the next ones; 0: all at once.
  std::int64_t stored_chunk = 0;
  std::int64_t depth_quantum = 1;  // of which such steps are multiples
  std::int64_t panel_width = 0;    // of which blocks of columns are multiples; 0: of nothing
  // Operands whose rows have at least this many bytes in a block are fetched into caches while the
  // block of rows before is being worked on.
  static constexpr std::int64_t prefetched_row_bytes = 4 << 10;
  bool prefetches = false;
  // Neighbours along a tile's last axis are accessed at the same time, so a block whose first axis
  // is the contiguous one is read and written turned over.
  bool coalesces = false;
  // Products of few rows are added up by each thread for itself, and between threads at the end
  // only: they wait for the weights, which go to registers as they come.
  bool sums_elements = false;
  // Only the products of this many rows of the digit, or columns, at the end of the table are
  // shared, whole blocks (stream_k.h); both 0: all are.
  std::int64_t stream_k_rows = 0, stream_k_columns = 0;
  bool has_stream_k() const { return stream_k_rows != 0 || stream_k_columns != 0; }
  std::int64_t share = 0;  // columns of a row that each of a cluster takes, whole chunks
  bool shares_rows() const { return cluster > 1 && !has_product; }
};

// True if blocks may hold a part of a row's columns. On the host not where the region writes in
// place: the last block cannot be moved back to end with the row, and most of it would lie beyond.
bool cuts_columns(const Region& region, const dsl::Target& target);
// The extent of a region's product of this many rows, as the host multiplies it.
ProductExtent product_extent(const Region& region, const RegionFacts& facts, std::int64_t rows,
                             const dsl::Target& host);
// Programs that take the number of rows are made for classes of numbers: the least of the class of
// `rows`. One row has a program of its own.
std::int64_t least_of_size_class(std::int64_t rows);
// The sizes that a plan's file records.
BlockSizes sizes_of(const RowBlocks& blocks);
// `requested` overrides the choice where it is not 0; it is clipped to the limits of the region.
RowBlocks choose_blocks(const TaskList& list, const Region& region, const dsl::Target& target,
                        const BlockSizes& requested);
RowBlocks choose_gpu_blocks(const TaskList& list, const Region& region, const dsl::Target& target,
                            const BlockSizes& requested);
// Rows, of all digits, and columns of the products that programs share: of the table, or its band.
Shape shared_part(const Region& region, const RowBlocks& blocks);
// The blocks of the program that adds up the parts of products that were made with `blocks`.
RowBlocks combining_blocks(const Region& region, const dsl::Target& target,
                           const RowBlocks& blocks);

}  // namespace tilewright::graph
