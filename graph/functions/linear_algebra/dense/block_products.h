// Products of blocks of matrices of doubles, by the widest vectors that the processor has
// (vector_loops.h), where Eigen's have those that all processors share.
#pragma once

#include <cstdint>

namespace tilewright::graph::dense {

// A block by columns, which are `step` elements apart.
struct ColumnsOfDoubles {
  double* first;
  std::int64_t step, rows, columns;
};
struct ConstColumnsOfDoubles {
  const double* first;
  std::int64_t step, rows, columns;
};

// c -= a * b. c overlaps neither.
void subtract_product(const ColumnsOfDoubles& c, const ConstColumnsOfDoubles& a,
                      const ConstColumnsOfDoubles& b);

}  // namespace tilewright::graph::dense
