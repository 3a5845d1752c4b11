// Rotations of neighbouring columns, of which iterations for eigenvalues and singular values make a
// sequence at a time: columns k and k + 1 for each k from `first` on.
//
// Apart from Eigen's applyOnTheRight, which reads and writes both columns for each rotation: here
// sequences are collected, and a strip of rows is taken through all of them while it is in the
// innermost cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/functions/linear_algebra/dense/batches.h"
#include "graph/functions/linear_algebra/dense/vector_loops.h"

namespace tilewright::graph::dense {

// The rotation that takes (f, g) to (length, 0).
struct Turn {
  Rotation by;
  double length = 0;
  Turn(double f, double g) {
    if (g == 0) {
      length = f;
      return;
    }
    const double square = f * f + g * g;
    length = square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::hypot(f, g);
    by = {f / length, g / length};
  }
};

// A square matrix of doubles that starts as the identity, with rows added up to whole strips.
class RotatedColumns {
 public:
  explicit RotatedColumns(std::int64_t size);
  void set_identity();
  // Columns k and k + 1 for each rotation, in the order of the list: not before `finish`.
  void rotate(std::int64_t first, const std::vector<Rotation>& by);
  void finish();
  void negate(std::int64_t column) { all_.col(column) = -all_.col(column); }
  auto column(std::int64_t k) const { return all_.col(k).head(all_.cols()); }

 private:
  struct Sequence {
    std::int64_t first, begin, count;  // its column, and its place in the list
  };
  Matrix<double> all_;
  std::vector<Rotation> rotations_;
  std::vector<Sequence> sequences_;
};

}  // namespace tilewright::graph::dense
