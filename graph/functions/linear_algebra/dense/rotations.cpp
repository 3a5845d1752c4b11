#include "graph/functions/linear_algebra/dense/rotations.h"

namespace tilewright::graph::dense {
namespace {

constexpr std::size_t sequences_at_once = 16;

}  // namespace

// A cache line more between columns keeps these out of each other's cache sets.
RotatedColumns::RotatedColumns(std::int64_t size)
    : all_((size + rows_at_once - 1) / rows_at_once * rows_at_once + pack, size) {}

void RotatedColumns::set_identity() {
  all_.setIdentity();
  rotations_.clear();
  sequences_.clear();
}

void RotatedColumns::rotate(std::int64_t first, const std::vector<Rotation>& by) {
  if (by.empty()) return;
  sequences_.push_back({first, std::ssize(rotations_), std::ssize(by)});
  rotations_.insert(rotations_.end(), by.begin(), by.end());
  if (sequences_.size() == sequences_at_once) finish();
}

void RotatedColumns::finish() {
  for (std::int64_t row = 0; row < all_.cols(); row += rows_at_once)
    for (const auto& [first, begin, count] : sequences_)
      rotate_rows(&all_.coeffRef(row, first), all_.rows(),
                  &rotations_[static_cast<std::size_t>(begin)], count);
  rotations_.clear();
  sequences_.clear();
}

}  // namespace tilewright::graph::dense
