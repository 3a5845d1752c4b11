#include "graph/lower/product_cost.h"

#include <algorithm>
#include <cmath>

#include "dsl/packed_product.h"
#include "runtime/host_caches.h"

namespace tilewright::graph {
namespace {

using dsl::PackedProduct;

// Cycles, as measured on Zen 4.
constexpr double pack_right = 0.6, pack_left = 0.4;  // a word of 4 bytes
constexpr double a_program = 3000;
constexpr double a_spilled_line = 2;      // of what the outer cache does not hold
constexpr double fetched_bytes = 5;       // a cycle, of memory that all cores read
constexpr double of_rate = 0.92;          // that multiplications reach
constexpr double narrow_cost = 0.35;      // of a vector, for each that a sliver lacks
constexpr double spilled_rows = 1.3;      // where rows that are not packed leave the outer cache
constexpr double unequal_threads = 0.25;  // of a program
constexpr double of_cache = 0.75;         // that blocks may fill
constexpr std::int64_t most_rows = 512, most_columns = 1024;

double divide_up(double x, double y) { return std::ceil(x / y); }

}  // namespace

double product_cycles(const ProductExtent& p, const dsl::Target& host, std::int64_t block_rows,
                      std::int64_t block_columns, int threads, std::int64_t splits) {
  auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const PackedProduct how = dsl::packed_product(host);
  double rows = number(block_rows), columns = number(block_columns), lanes = host.lanes,
         depth = number(p.depth) / number(splits);
  double words = depth * number(p.element_bytes) / 4;  // that are multiplied at once
  double cache = of_cache * number(outer_cache_bytes());
  double programs = number(p.outer * splits) * divide_up(number(p.rows), rows) *
                    divide_up(number(p.columns), columns);
  double fetch = columns * depth * number(p.weight_bytes) / fetched_bytes;
  double cycles = 0;
  if (block_rows < PackedProduct::least_rows) {
    double multiply = rows * columns * words / lanes / of_rate;
    if (rows * depth * number(p.element_bytes) > cache) multiply *= spilled_rows;
    cycles = std::max(multiply, fetch);
  } else {
    double sliver = number(how.vectors) * lanes, vectors = divide_up(columns, lanes);
    double lacking = divide_up(columns, sliver) * number(how.vectors) - vectors;
    double height = number(how.height);
    double multiply =
        divide_up(rows, height) * height * (vectors + narrow_cost * lacking) * words / of_rate;
    double pack = words * (columns * pack_right + rows * pack_left);
    double strip = number(how.strip_rows());
    double pieces = divide_up(words * 4 * strip, number(PackedProduct::strip_bytes));
    double panel = columns * words * 4 / pieces;
    double beyond = std::max(0.0, rows * columns * 4 + panel - cache);
    double spill = std::min(beyond, panel) / 64 * a_spilled_line * divide_up(rows, strip) * pieces;
    cycles = std::max(multiply, fetch) + pack + spill;
  }
  double sum = splits == 1 ? 0 : 2 * rows * columns * 4 / fetched_bytes;  // of what is split
  return (divide_up(programs, threads) + unequal_threads) * (cycles + sum + a_program);
}

ProductBlock cheapest_product_block(const ProductExtent& p, const dsl::Target& host, int threads) {
  const PackedProduct how = dsl::packed_product(host);
  ProductBlock best{p.rows, p.columns};
  double least = HUGE_VAL;
  // Equal parts, rounded up to what is multiplied at once.
  auto for_parts = [](std::int64_t all, std::int64_t quantum, std::int64_t most, auto&& body) {
    std::int64_t before = 0;
    for (std::int64_t parts = (all + most - 1) / most; parts <= all; ++parts) {
      std::int64_t size = (all + parts - 1) / parts;
      size = std::min(all, (size + quantum - 1) / quantum * quantum);
      if (size != before) body(size);
      before = size;
      if (size <= quantum) return;
    }
  };
  const bool packs = p.rows >= PackedProduct::least_rows;
  // Few rows are not cut: each program would read the weights.
  const std::int64_t quantum = packs ? how.vectors * host.lanes : host.lanes;
  for_parts(p.columns, quantum, packs ? most_columns : p.columns, [&](std::int64_t columns) {
    if (!packs && product_cycles(p, host, p.rows, columns, threads) < least) {
      least = product_cycles(p, host, p.rows, columns, threads);
      best = {p.rows, columns};
    }
    if (!packs) return;
    for_parts(p.rows, how.height, most_rows, [&](std::int64_t rows) {
      if (rows < std::min(p.rows, PackedProduct::least_rows)) return;
      double cycles = product_cycles(p, host, rows, columns, threads);
      if (cycles >= least) return;
      least = cycles;
      best = {rows, columns};
    });
  });
  return best;
}

}  // namespace tilewright::graph
