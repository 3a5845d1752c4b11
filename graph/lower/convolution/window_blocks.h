// How the windows of a convolution by products (convolve_by_products.cpp) are cut into blocks, by a
// model of what copying and multiplying them costs.
#pragma once

#include <algorithm>

#include "graph/lower/convolution/convolution_filters.h"

namespace tilewright::graph {

// Windows of a block; rows of a product that is not packed again (dsl/target/packed_product.h) are
// fewer, where its vectors go along the filters.
inline constexpr std::int64_t most_product_windows = 480, most_left_windows = 40;
inline constexpr std::int64_t most_copied_bytes = 512 << 10;  // a block stays in the outer cache

// A block of whole rows, or of a part of one.
struct WindowBlock {
  std::int64_t rows = 1, planes = 1, columns = 1;  // of windows; or of pairs of rows
  std::int64_t phases = 1;                         // of rows of x; or combinations of them
  std::int64_t copied_rows = 1;                    // of each phase
  bool shifts_columns = false;  // `columns` are of x, which the columns of a window share
  // So are `columns` and so many behind them, and one product goes through the columns of a window
  // for a single channel. Negative: that is not so.
  std::int64_t shared_behind = -1;
  bool goes_by_channel() const { return shared_behind >= 0; }
  std::int64_t copied_columns() const { return columns + std::max<std::int64_t>(shared_behind, 0); }
  // A row of windows, as it lies in the copy.
  std::int64_t row_windows() const { return planes * copied_columns(); }
  std::int64_t windows() const { return rows * planes * columns; }
  // Copied elements of a channel, with so many copies of x.
  std::int64_t elements(std::int64_t copies) const {
    return phases * copies * copied_rows * row_windows();
  }
};

class WindowBlocks {
 public:
  // The shape and the filters outlive it.
  WindowBlocks(const ConvolutionShape& shape, const ConvolutionFilters& filters,
               std::int64_t lanes);

  WindowBlock whole() const;  // all windows of an image
  WindowBlock best() const;
  // How often a block copies x, but for rows.
  std::int64_t copies(const WindowBlock& block) const;
  // The columns of a row of the copy that no window begins at.
  std::int64_t columns_behind(const WindowBlock& block) const;

 private:
  WindowBlock block_of(std::int64_t rows, std::int64_t planes, std::int64_t columns) const;
  double cycles(const WindowBlock& block) const;  // for all blocks of this size

  const ConvolutionShape& shape_;
  const WindowAxis &planes_, &rows_, &columns_;
  const ConvolutionFilters& filters_;
  std::int64_t lanes_;
  std::int64_t block_rows_;  // of an image
};

}  // namespace tilewright::graph
