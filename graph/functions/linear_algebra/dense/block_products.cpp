#include "graph/functions/linear_algebra/dense/block_products.h"

#include <algorithm>
#include <vector>

#include "graph/functions/linear_algebra/dense/vector_loops.h"

namespace tilewright::graph::dense {

void subtract_product(const ColumnsOfDoubles& c, const ConstColumnsOfDoubles& a,
                      const ConstColumnsOfDoubles& b) {
  const std::int64_t depth = a.columns, last = b.columns % columns_at_once;
  std::vector<double> packed(static_cast<std::size_t>(depth * rows_at_once));
  // The last columns of b, with zeros behind them.
  std::vector<double> rest(static_cast<std::size_t>(last == 0 ? 0 : depth * columns_at_once));
  for (std::int64_t j = 0; j < last; ++j)
    std::copy_n(b.first + (b.columns - last + j) * b.step, depth, rest.data() + j * depth);
  double sums[columns_at_once * rows_at_once];
  for (std::int64_t row = 0; row < c.rows; row += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, c.rows - row);
    for (std::int64_t k = 0; k < depth; ++k)
      std::copy_n(a.first + k * a.step + row, rows, packed.data() + k * rows_at_once);
    for (std::int64_t column = 0; column < c.columns; column += columns_at_once) {
      const std::int64_t columns = std::min(columns_at_once, c.columns - column);
      if (columns == columns_at_once)
        multiply_rows(packed.data(), b.first + column * b.step, b.step, depth, sums);
      else
        multiply_rows(packed.data(), rest.data(), depth, depth, sums);
      for (std::int64_t j = 0; j < columns; ++j) {
        double* to = c.first + (column + j) * c.step + row;
        for (std::int64_t i = 0; i < rows; ++i) to[i] -= sums[j * rows_at_once + i];
      }
    }
  }
}

}  // namespace tilewright::graph::dense
