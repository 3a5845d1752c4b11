// Reductions of dense matrices to a few diagonals, by reflections from both sides.
//
// Eigen's reductions go through the matrix several times for each reflection, and use only the
// vector instructions that all processors have. Those of complex matrices are Eigen's still.
#pragma once

#include <optional>

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

#include "graph/functions/linear_algebra/dense/block_reflections.h"
#include "graph/functions/linear_algebra/dense/vector_loops.h"

namespace tilewright::graph::dense {

// Doubles by columns, of rows added up to whole packs, with a cache line more between columns.
class PaddedColumns {
 public:
  explicit PaddedColumns(const Matrix<double>& a);
  static std::int64_t padded(std::int64_t rows);
  // From the pack that the row is in on.
  double* column(std::int64_t row, std::int64_t k) { return &all_.coeffRef(row / pack * pack, k); }
  std::int64_t step() const { return all_.rows(); }

 private:
  Matrix<double> all_;
};

// a = U B V^H of a [m, n], m >= n, where B is real, a diagonal and the one above it.
template <typename T>
class Bidiagonal {
 public:
  void compute(const Matrix<T>& a) { form_.emplace(a); }
  Vector<double> diagonal() const { return form_->bidiagonal().diagonal(); }
  // Row 0 of the band holds the elements above the diagonal, from its column 1 on.
  Vector<double> above() const {
    return form_->bidiagonal().coeffs().row(0).tail(form_->bidiagonal().cols() - 1);
  }
  void apply_left(Block<T> c) const { c.applyOnTheLeft(form_->householderU()); }
  void apply_right(Block<T> c) { c.applyOnTheLeft(form_->householderV()); }

 private:
  std::optional<Eigen::internal::UpperBidiagonalization<Matrix<T>>> form_;
};
template <>
class Bidiagonal<double> {
 public:
  void compute(const Matrix<double>& a);
  const Vector<double>& diagonal() const { return diagonal_; }
  const Vector<double>& above() const { return above_; }
  void apply_left(Block<double> c) const { left_.apply(c, false); }
  void apply_right(Block<double> c) const { right_.apply(c.bottomRows(c.rows() - 1), false); }

 private:
  Vector<double> diagonal_, above_;
  BlockReflections<double> left_, right_;
};

// a = Q B Q^H of the lower triangle of a Hermitian a [n, n], n >= 2, where B is real, a diagonal
// and those beside it.
template <typename T>
class Tridiagonal {
 public:
  void compute(const Matrix<T>& a) { form_.compute(a); }
  Vector<double> diagonal() const { return form_.diagonal(); }
  Vector<double> beside() const { return form_.subDiagonal(); }
  void apply(Block<T> c) const { c.applyOnTheLeft(form_.matrixQ()); }

 private:
  Eigen::Tridiagonalization<Matrix<T>> form_;
};
template <>
class Tridiagonal<double> {
 public:
  void compute(const Matrix<double>& a);
  const Vector<double>& diagonal() const { return diagonal_; }
  const Vector<double>& beside() const { return beside_; }
  void apply(Block<double> c) const { all_.apply(c.bottomRows(c.rows() - 1), false); }

 private:
  Vector<double> diagonal_, beside_;
  BlockReflections<double> all_;
};

}  // namespace tilewright::graph::dense
