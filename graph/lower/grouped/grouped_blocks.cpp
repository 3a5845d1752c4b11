#include "graph/lower/grouped/grouped_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dsl/target/packed_product.h"
#include "graph/lower/block_sizes.h"
#include "graph/lower/product_cost.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

// Blocks of the host: of columns that are whole vectors, and sums over rows of about a cache.
constexpr std::int64_t tried_rows[] = {1,  4,  8,  16, 32, dsl::PackedProduct::least_rows,
                                       64, 96, 128};
constexpr std::int64_t least_columns = 16, run_bytes = 128;
constexpr std::int64_t summed_rows = 64, summed_columns = 128;
constexpr std::int64_t least_at_once = 4, most_at_once = 128;
// Blocks of GPUs.
constexpr std::int64_t least_gpu_rows = 16, most_gpu_rows = 128, gpu_columns = 64;
constexpr std::int64_t gpu_wide_columns = 128, gpu_depth_bytes = 128, gpu_f32_depth = 16;

std::int64_t power_of_two(std::int64_t x) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}

// Rows of a group that are summed at once where it is an inner axis: about all that a group has.
std::int64_t rows_at_once(const GroupedShape& shape) {
  const std::int64_t average = shape.depth() / shape.groups();
  return std::clamp(power_of_two(average + 1) / 2, least_at_once, most_at_once);
}

// How many blocks of so many rows there are where each row has any of the groups.
double expected_blocks(const GroupedShape& shape, std::int64_t block_rows) {
  const auto rows = static_cast<double>(shape.grouped_rows()),
             groups = static_cast<double>(shape.groups()), block = static_cast<double>(block_rows);
  const double filled = groups * (1 - std::exp(-rows / groups));  // groups that have rows
  return std::max(filled, rows / block + filled * (block - 1) / (2 * block));
}

BlockSizes host_blocks(const GroupedShape& shape, DType dtype, const dsl::Target& host) {
  const std::int64_t columns = shape.columns();
  if (!shape.is_by_rows())
    return {.rows = std::min(shape.rows(), summed_rows),
            .columns = std::min(columns, summed_columns),
            .depth = std::min(shape.depth(), rows_at_once(shape))};
  const int threads = planned_threads();
  ProductExtent product{.columns = columns,
                        .depth = std::max<std::int64_t>(shape.depth(), 1),
                        .element_bytes = 4 / dsl::packed_word(host, dtype),
                        .weight_bytes = size_bytes(dtype),
                        .along_depth = shape.b.strides[1] == 1};
  const std::int64_t least =
      product.along_depth ? least_columns : std::max(least_columns, run_bytes / size_bytes(dtype));
  BlockSizes best;
  double cost = HUGE_VAL;
  for (std::int64_t rows : tried_rows) {
    if (rows > power_of_two(shape.grouped_rows())) break;
    product.rows = std::min(rows, shape.grouped_rows());
    product.outer = static_cast<std::int64_t>(std::ceil(expected_blocks(shape, rows)));
    std::int64_t own = 0;
    for (std::int64_t size = least; own < columns; size *= 2) {
      own = std::min(size, columns);
      const double cycles = product_cycles(product, host, product.rows, own, threads);
      if (cycles >= cost) continue;
      cost = cycles;
      best = {.rows = product.rows, .columns = own};
    }
  }
  return best;
}

BlockSizes gpu_blocks(const GroupedShape& shape, DType dtype, bool on_tensor_cores) {
  const std::int64_t average = divide_up(shape.grouped_rows(), shape.groups());
  const std::int64_t wanted = shape.is_by_rows() ? average : shape.rows();
  BlockSizes blocks;
  blocks.rows = std::clamp(power_of_two(wanted), least_gpu_rows,
                           on_tensor_cores ? most_gpu_rows : most_gpu_rows / 2);
  const bool is_wide = on_tensor_cores && size_bytes(dtype) == 2 && blocks.rows < most_gpu_rows;
  blocks.columns =
      std::min(power_of_two(shape.columns()), is_wide ? gpu_wide_columns : gpu_columns);
  const std::int64_t depth = on_tensor_cores ? gpu_depth_bytes / size_bytes(dtype) : gpu_f32_depth;
  blocks.depth = std::min(power_of_two(shape.depth()), depth);
  return blocks;
}

}  // namespace

std::int64_t GroupedShape::most_row_blocks(std::int64_t block_rows) const {
  const std::int64_t all = rows(), filled = std::min(groups() + 1, all);
  return (all - filled) / block_rows + filled;
}

BlockSizes grouped_blocks(const GroupedShape& shape, DType dtype, const dsl::Target& target,
                          bool on_tensor_cores, const BlockSizes& asked) {
  BlockSizes blocks = target.is_gpu() ? gpu_blocks(shape, dtype, on_tensor_cores)
                                      : host_blocks(shape, dtype, target);
  blocks.rows = settled(asked.rows, blocks.rows, shape.rows());
  blocks.columns = settled(asked.columns, blocks.columns, shape.columns());
  if (target.is_gpu()) blocks.depth = settled(asked.depth, blocks.depth);
  return blocks;
}

}  // namespace tilewright::graph
