#include "graph/lower/product_cost.h"

#include <algorithm>
#include <cmath>

#include "dsl/target/packed_product.h"
#include "dsl/target/row_product.h"
#include "runtime/base/divide_up.h"
#include "runtime/host_caches.h"

namespace tilewright::graph {
namespace {

using dsl::PackedProduct;

// Cycles, as measured on Zen 4 and Zen 5; those of rows that are not packed on Emerald Rapids,
// where the landscapes of tests/autotune/data were measured.
constexpr double pack_right = 0.6, pack_left = 0.8;  // a word of 4 bytes
constexpr double a_copied_word = 0.5;  // of an operand of which the last block is not whole
constexpr double a_program = 500, a_packing_program = 3000;
// By tiles with exchanged operands: of 16 rows; and a line of 16 of them that is turned over.
constexpr double a_turned_word = 0.08, a_turned_line = 6;
constexpr double a_sum = 3;             // of the lanes of one result, that is not packed
constexpr double a_spilled_line = 0.5;  // of what the outer cache does not hold
constexpr double fetched_bytes = 8;     // a cycle, of memory that all cores read
constexpr double refetched_bytes = 16;  // of an outer cache
constexpr double not_hidden = 0.25;     // of what is fetched from memory again
constexpr double of_rate = 0.8, of_packed_rate = 0.92;  // that multiplications reach
constexpr double narrow_cost = 0.35;                    // of a vector, for each that a panel lacks
constexpr double spilled_rows = 1.3;        // where rows that are not packed leave the outer cache
constexpr double rows_beyond_inner = 1.08;  // or the inner one
constexpr double inner_cache = 32 << 10;
constexpr double unequal_threads = 0.25;  // of a program
constexpr double of_cache = 0.75;         // that blocks may fill
constexpr std::int64_t most_rows = 512, most_columns = 1024;
// By tiles the sums of 32 columns stay in an L1, and what memory is read for is the left operand.
constexpr std::int64_t most_tiled_rows = 256, most_tiled_columns = 2048;

double number(std::int64_t x) { return static_cast<double>(x); }

PackedProduct how_to_pack(const ProductExtent& p, const dsl::Target& host, std::int64_t columns) {
  const std::int64_t in_word = 4 / p.element_bytes;
  return p.panel_width != 0 ? dsl::packed_product_of(host, in_word, p.panel_width / host.lanes)
                            : dsl::packed_product(host, in_word, columns);
}

bool goes_by_tiles(const ProductExtent& p, const dsl::Target& host, std::int64_t rows,
                   std::int64_t columns) {
  return rows >= PackedProduct::least_rows && p.depth % (4 / p.element_bytes) == 0 &&
         how_to_pack(p, host, columns).by_tiles;
}

// Cycles for what the outer cache does not hold of a block that is packed.
double spill_cycles(const PackedProduct& how, double rows, double columns, double words,
                    double cache) {
  const double sums = rows * columns * 4;
  if (how.by_tiles) {
    const double passes = divide_up(rows * words * 4, number(PackedProduct::most_tiled_bytes));
    return passes == 1 ? 0 : 2 * passes * sums / fetched_bytes;
  }
  double left_panel = number(how.left_panel_rows());
  double chunks = divide_up(words * 4 * left_panel, number(how.left_panel_bytes()));
  double panel = columns * words * 4 / chunks;
  // For each left panel the panel is gone through; the sums of a left panel lie beside it.
  double beyond = std::max(0.0, panel + 2 * left_panel * columns * 4 - cache);
  double moved = sums > cache ? 2 * sums : 0;
  return (std::min(beyond, panel) * divide_up(rows, left_panel) + moved) / 64 * a_spilled_line *
         chunks;
}

// The cycles of a block of few rows by tiles.
double turned_cycles(double rows, double columns, double words) {
  const double tiles = divide_up(rows, number(dsl::tile_side));
  return tiles * (columns * words * a_turned_word + (columns + words) * a_turned_line);
}

// True if no hardware prefetcher expects the next row of the right operand.
bool has_distant_rows(const ProductExtent& p) {
  return !p.along_depth && p.columns * p.weight_bytes >= dsl::DistantRows::least_bytes;
}

}  // namespace

std::int64_t tiled_chunk(const ProductExtent& p, const dsl::Target& host, std::int64_t block_rows,
                         std::int64_t block_columns) {
  if (!goes_by_tiles(p, host, block_rows, block_columns)) return 0;
  if (block_rows * p.depth * p.element_bytes > PackedProduct::most_tiled_bytes) return 0;
  for (std::int64_t columns : {PackedProduct::tiled_columns, PackedProduct::tiled_columns / 2})
    if (block_columns > columns && block_columns % columns == 0 &&
        (p.panel_width == 0 || columns % p.panel_width == 0))
      return columns;
  return 0;
}

double product_cycles(const ProductExtent& p, const dsl::Target& host, std::int64_t block_rows,
                      std::int64_t block_columns, int threads, std::int64_t splits) {
  const PackedProduct how = how_to_pack(p, host, block_columns);
  double rows = number(block_rows), columns = number(block_columns), lanes = host.lanes,
         depth = number(p.depth) / number(splits);
  double words = depth * number(p.element_bytes) / 4;  // that are multiplied at once
  double cache = of_cache * number(outer_cache_bytes());
  double row_blocks = divide_up(number(p.rows), rows);
  double programs = number(p.outer * splits) * row_blocks * divide_up(number(p.columns), columns);
  double weights = columns * depth * number(p.weight_bytes), fetch = weights / fetched_bytes;
  double cycles = 0;
  const bool is_packed = p.panel_width != 0;
  const bool packs = is_packed || block_rows >= PackedProduct::least_rows;
  if (!packs) {
    double multiply = rows * columns * (words / lanes / of_rate + a_sum), depth_at_once = depth;
    const bool is_distant = has_distant_rows(p);
    if (p.along_depth) {
      if (dsl::is_turned(host, 4 / p.element_bytes, block_rows, block_columns, p.depth))
        multiply = turned_cycles(rows, columns, words);
    } else {
      const double at_once = number(dsl::row_product(host, block_rows).vectors);
      const double vectors = divide_up(columns, lanes);
      const double lacking = divide_up(vectors, at_once) * at_once - vectors;
      multiply *= (vectors + narrow_cost * lacking) / vectors;
      // Nothing fetches the first columns of a block.
      if (is_distant) fetch *= 1 + std::min(1.0, at_once * lanes / columns);
      if (is_distant) depth_at_once = std::min(depth, number(dsl::DistantRows::at_once));
    }
    double held = rows * depth_at_once * number(p.element_bytes);
    if (held > inner_cache) multiply *= held > cache ? spilled_rows : rows_beyond_inner;
    // Programs of the same columns follow each other.
    double again = weights + held <= cache && !is_distant
                       ? std::max(multiply, weights / refetched_bytes)
                       : std::max(multiply, fetch) + not_hidden * fetch;
    cycles = (std::max(multiply, fetch) + (row_blocks - 1) * again) / row_blocks;
  } else {
    double panel = number(how.vectors) * lanes, vectors = divide_up(columns, lanes);
    double lacking = divide_up(columns, panel) * number(how.vectors) - vectors;
    double height = number(how.height);
    double multiply = divide_up(rows, height) * height * (vectors + narrow_cost * lacking) * words /
                      of_packed_rate / number(how.multiplications());
    double pack =
        words * rows * pack_left + (is_packed ? not_hidden * fetch : words * columns * pack_right);
    double spill = spill_cycles(how, rows, columns, words, cache);
    bool rows_fit = p.rows % block_rows == 0;
    bool columns_fit = is_packed || p.columns % block_columns == 0;
    double copy = words * a_copied_word * ((rows_fit ? 0 : rows) + (columns_fit ? 0 : columns));
    cycles = std::max(multiply, fetch) + pack + spill + copy;
  }
  double sum = splits == 1 ? 0 : 2 * rows * columns * 4 / fetched_bytes;  // of what is split
  return (divide_up(programs, threads) + (threads > 1 ? unequal_threads : 0)) *
         (cycles + sum + (packs ? a_packing_program : a_program));
}

ProductBlock cheapest_product_block(const ProductExtent& p, const dsl::Target& host, int threads) {
  ProductBlock best{p.rows, p.columns};
  double least = HUGE_VAL;
  // Equal parts: as they are where they are whole vectors, and rounded up to what is multiplied at
  // once.
  auto for_parts = [&host](std::int64_t all, std::int64_t quantum, std::int64_t most, auto&& body) {
    std::int64_t before = 0;
    for (std::int64_t parts = (all + most - 1) / most; parts <= all; ++parts) {
      std::int64_t size = (all + parts - 1) / parts;
      if (size * parts == all && size % host.lanes == 0 && size % quantum != 0) body(size);
      size = std::min(all, (size + quantum - 1) / quantum * quantum);
      if (size != before) body(size);
      before = size;
      if (size <= quantum) return;
    }
  };
  auto offer = [&](std::int64_t rows, std::int64_t columns) {
    double cycles = product_cycles(p, host, rows, columns, threads);
    if (cycles >= least) return;
    least = cycles;
    best = {rows, columns};
  };
  const bool by_tiles = goes_by_tiles(p, host, p.rows, p.columns);
  auto offer_packed = [&](std::int64_t columns) {
    const std::int64_t height = how_to_pack(p, host, columns).height;
    for_parts(p.rows, height, by_tiles ? most_tiled_rows : most_rows, [&](std::int64_t rows) {
      if (rows >= PackedProduct::least_rows) offer(rows, columns);
    });
  };
  if (p.panel_width != 0) {
    // Whole panels, at least two blocks where the last one is not full.
    const std::int64_t whole = p.columns / p.panel_width;
    for (std::int64_t parts = 1, before = 0; parts <= whole; ++parts) {
      std::int64_t panels = (whole + parts - 1) / parts;
      if (panels != before) offer_packed(panels * p.panel_width);
      before = panels;
    }
    return best;
  }
  const std::int64_t quantum = by_tiles ? PackedProduct::tiled_columns : 3 * host.lanes;
  if (p.rows >= PackedProduct::least_rows)
    for_parts(p.columns, quantum, by_tiles ? most_tiled_columns : most_columns, offer_packed);
  const std::int64_t quantum_of_rows = std::max<std::int64_t>(p.column_quantum, host.lanes);
  const bool ends_with_quantum = p.column_quantum != 0 && p.columns > p.column_quantum;
  // With more rows, too much is multiplied to save packing.
  if (p.rows < 2 * PackedProduct::least_rows)
    for_parts(p.columns, quantum_of_rows, p.columns, [&](std::int64_t columns) {
      if (columns % quantum_of_rows != 0 && ends_with_quantum) return;
      for (std::int64_t rows : {p.rows, std::int64_t{32}, std::int64_t{16}, std::int64_t{8}})
        if (rows <= p.rows && rows < PackedProduct::least_rows &&
            columns >= std::min(p.columns, p.least_columns))
          offer(rows, columns);
    });
  return best;
}

}  // namespace tilewright::graph
