#include "graph/functions/linear_algebra/dense/rotations.h"

namespace tilewright::graph::dense {

// A cache line more between columns keeps these out of each other's cache sets.
RotatedColumns::RotatedColumns(std::int64_t size)
    : all_((size + rows_at_once - 1) / rows_at_once * rows_at_once + pack, size) {}

void RotatedColumns::set_identity() { all_.setIdentity(); }

void RotatedColumns::rotate(std::int64_t first, const std::vector<Rotation>& by) {
  if (by.empty()) return;
  for (std::int64_t row = 0; row < all_.cols(); row += rows_at_once)
    rotate_rows(&all_.coeffRef(row, first), all_.rows(), by.data(), std::ssize(by));
}

}  // namespace tilewright::graph::dense
