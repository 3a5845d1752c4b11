#include "graph/lower/convolution/window_blocks.h"

#include <algorithm>

#include "graph/regions/winograd.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t window_quantum = 48, vector = 16;  // elements
// For a block, a quarter of which a product reads at a time.
constexpr std::int64_t most_transformed_bytes = 1280 << 10;
constexpr double a_copied_element = 0.9;  // cycles
constexpr double a_gathered_element = 2, a_transformed_element = 0.5;

std::int64_t phases_of(const WindowAxis& axis) {
  std::int64_t most = 0;
  for (std::int64_t k = 0; k < axis.kernel; ++k)
    most = std::max(most, k * axis.dilation % axis.stride);
  return most + 1;
}

// The cost of one row of a product's right operand: three vectors go together, and fewer are slower
// each.
double cycles_of(std::int64_t vectors) {
  constexpr double of_rest[] = {0, 1.55, 2.2};
  return static_cast<double>(vectors / 3 * 3) + of_rest[vectors % 3];
}

}  // namespace

WindowBlocks::WindowBlocks(const ConvolutionShape& shape, const ConvolutionFilters& filters,
                           std::int64_t lanes)
    : shape_(shape),
      planes_(shape.planes()),
      rows_(shape.rows()),
      columns_(shape.columns()),
      filters_(filters),
      lanes_(lanes),
      block_rows_(divide_up(rows_.windows, filters.uses_winograd() ? winograd::results : 1)) {}

std::int64_t WindowBlocks::copies(const WindowBlock& block) const {
  return block.goes_by_channel() ? 1
                                 : planes_.kernel * (block.shifts_columns ? 1 : columns_.kernel);
}

std::int64_t WindowBlocks::columns_behind(const WindowBlock& block) const {
  return block.shifts_columns ? (columns_.kernel - 1) * columns_.dilation : 0;
}

WindowBlock WindowBlocks::whole() const {
  return block_of(rows_.windows, planes_.windows, columns_.windows);
}

WindowBlock WindowBlocks::block_of(std::int64_t rows, std::int64_t planes,
                                   std::int64_t columns) const {
  if (filters_.uses_winograd()) return {rows, planes, columns, winograd::products, rows};
  WindowBlock block{rows, planes, columns, phases_of(rows_), 0};
  block.copied_rows = rows + (rows_.kernel - 1) * rows_.dilation / rows_.stride;
  return block;
}

double WindowBlocks::cycles(const WindowBlock& block) const {
  const std::int64_t count = divide_up(block.windows(), lanes_);
  const double vectors = filters_.uses_winograd() ? cycles_of(count) : static_cast<double>(count);
  std::int64_t products = filters_.depth() * filters_.rows();
  // Sums are read and written for each column, or channel.
  if (block.shifts_columns) products += filters_.rows() * (columns_.kernel - 1);
  if (block.goes_by_channel()) products += shape_.channels - 1;
  auto copied = static_cast<double>(shape_.channels * block.elements(copies(block)));
  // Rows are copied in whole vectors.
  if (shape_.has_planes())
    copied *= static_cast<double>(divide_up(block.columns, vector) * vector) /
              static_cast<double>(block.columns);
  const double each = columns_.stride != 1       ? a_gathered_element
                      : filters_.uses_winograd() ? a_transformed_element
                                                 : a_copied_element;
  return static_cast<double>(divide_up(block_rows_, block.rows) *
                             divide_up(planes_.windows, block.planes) *
                             divide_up(columns_.windows, block.columns)) *
         (vectors * static_cast<double>(shape_.outputs * products) + each * copied);
}

WindowBlock WindowBlocks::best() const {
  WindowBlock best = block_of(1, 1, std::min(columns_.windows, window_quantum));
  double least = cycles(best);
  const std::int64_t most_bytes =
      filters_.uses_winograd() ? most_transformed_bytes : most_copied_bytes;
  auto offer_block = [&](const WindowBlock& block) {
    const std::int64_t bytes = shape_.channels * block.elements(copies(block)) * 4;
    if (block.windows() > most_product_windows || bytes > most_bytes) return;
    if (const double with = cycles(block); with < least) {
      least = with;
      best = block;
    }
  };
  auto offer = [&](std::int64_t rows, std::int64_t columns, std::int64_t planes = 1) {
    offer_block(block_of(rows, planes, columns));
  };
  for (std::int64_t rows = 1; rows <= block_rows_; ++rows) offer(rows, columns_.windows);
  for (std::int64_t columns = window_quantum; columns <= most_product_windows;
       columns += window_quantum)
    offer(1, std::min(columns, columns_.windows));
  // Blocks next to each other copy what lies between them twice: less of squarer ones.
  if (rows_.kernel > 1)
    for (std::int64_t parts = 2; divide_up(columns_.windows, parts) > vector; ++parts) {
      const std::int64_t columns = divide_up(divide_up(columns_.windows, parts), vector) * vector;
      for (std::int64_t rows = 2; rows * columns <= most_product_windows; ++rows)
        if (rows <= block_rows_) offer(rows, columns);
    }
  const bool goes_along = filters_.vectors_go_along();
  if (!shape_.has_planes()) {
    const bool is_one_row = rows_.kernel == 1 && rows_.windows == 1 && rows_.stride == 1;
    if (!is_one_row || goes_along || filters_.uses_winograd() || columns_.stride != 1) return best;
    auto offer_by_channel = [&](std::int64_t columns) {
      WindowBlock block = block_of(1, 1, columns);
      block.shared_behind = (columns_.kernel - 1) * columns_.dilation;
      offer_block(block);
    };
    for (std::int64_t columns = window_quantum; columns < columns_.windows;
         columns += window_quantum)
      offer_by_channel(columns);
    offer_by_channel(columns_.windows);
    return best;
  }
  const std::int64_t most_in_row = goes_along ? most_left_windows : most_product_windows;
  for (std::int64_t planes = 2; planes <= planes_.windows; ++planes)
    for (std::int64_t rows = 1; rows <= block_rows_; ++rows)
      if (planes * columns_.windows <= most_in_row) offer(rows, columns_.windows, planes);
  if (columns_.stride == 1 && !goes_along)
    for (std::int64_t rows = 1; rows <= block_rows_; ++rows) {
      WindowBlock block = block_of(rows, 1, columns_.windows);
      block.shifts_columns = true;
      block.columns += columns_behind(block);
      offer_block(block);
    }
  return best;
}

}  // namespace tilewright::graph
