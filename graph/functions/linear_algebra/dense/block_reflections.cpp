#include "graph/functions/linear_algebra/dense/block_reflections.h"

#include <Eigen/Householder>
#include <algorithm>

#include "graph/functions/linear_algebra/dense/vector_loops.h"

namespace tilewright::graph::dense {
namespace {

constexpr std::int64_t reflections_at_once = 32;

// c -= tau v v^H c. v begins with 1.
void reflect_one(const Vector<double>& v, double tau, Block<double> c) {
  reflect_columns(v.data(), v.size(), tau, c.data(), c.outerStride(), c.cols());
}
void reflect_one(const Vector<Complex>& v, const Complex& tau, Block<Complex> c) {
  c.noalias() -= (tau * v) * (v.adjoint() * c).eval();
}

}  // namespace

template <typename T>
typename BlockReflections<T>::Part BlockReflections<T>::part_of(const ConstBlock<T>& vectors,
                                                                const Vector<T>& tau,
                                                                std::int64_t first) {
  const std::int64_t count = tau.size();
  Part part{first, vectors.template triangularView<Eigen::UnitLower>(), {}, {}};
  part.adjoint = part.vectors.adjoint();
  Matrix<T> products = Matrix<T>::Zero(count, count);
  subtract_product<T>(products, part.adjoint, part.vectors);
  part.triangle = Matrix<T>::Zero(count, count);
  for (std::int64_t i = 0; i < count; ++i) {
    part.triangle(i, i) = tau[i];
    part.triangle.col(i).head(i).noalias() =
        tau[i] * (part.triangle.topLeftCorner(i, i) * products.col(i).head(i));
  }
  return part;
}

template <typename T>
void BlockReflections<T>::reflect(const Part& part, bool is_undone, Block<T> c) {
  const std::int64_t count = part.triangle.cols();
  Matrix<T> beside = Matrix<T>::Zero(count, c.cols()), combined = beside;
  subtract_product<T>(beside, part.adjoint, c);
  if (is_undone)
    subtract_product<T>(combined, Matrix<T>(part.triangle.adjoint()), beside);
  else
    subtract_product<T>(combined, part.triangle, beside);
  subtract_product<T>(c, part.vectors, combined);
}

template <typename T>
void BlockReflections<T>::factor_columns(Block<T> a, Eigen::Ref<Vector<T>> tau) {
  const std::int64_t rows = a.rows(), count = tau.size();
  if (count > few_columns) {
    const std::int64_t half = count / 2, rest = count - half;
    factor_columns(a.leftCols(half), tau.head(half));
    auto right = a.rightCols(rest);
    reflect(part_of(a.leftCols(half), tau.head(half), 0), true, right);
    factor_columns(right.bottomRows(rows - half), tau.tail(rest));
    return;
  }
  Vector<T> v;
  for (std::int64_t k = 0; k < count; ++k) {
    auto column = a.col(k).tail(rows - k);
    T factor;
    double diagonal = 0;
    column.makeHouseholderInPlace(factor, diagonal);
    v = column;
    v[0] = 1;
    column[0] = diagonal;
    reflect_one(v, factor, a.block(k, k + 1, rows - k, a.cols() - k - 1));
    tau[k] = Eigen::numext::conj(factor);  // Eigen's is that of what undoes it
  }
}

template <typename T>
void BlockReflections<T>::factor(Block<T> a) {
  const std::int64_t rows = a.rows(), count = std::min(rows, a.cols());
  tau_.resize(count);
  parts_.clear();
  for (std::int64_t k = 0; k < count; k += reflections_at_once) {
    const std::int64_t width = std::min(reflections_at_once, count - k);
    auto panel = a.block(k, k, rows - k, width);
    factor_columns(panel, tau_.segment(k, width));
    parts_.push_back(part_of(panel, tau_.segment(k, width), k));
    const std::int64_t rest = a.cols() - k - width;
    if (rest > 0) reflect(parts_.back(), true, a.block(k, k + width, rows - k, rest));
  }
}

template <typename T>
void BlockReflections<T>::take(const ConstBlock<T>& vectors, const Vector<T>& tau) {
  tau_ = tau;
  parts_.clear();
  for (std::int64_t k = 0; k < tau.size(); k += reflections_at_once) {
    const std::int64_t width = std::min(reflections_at_once, tau.size() - k);
    parts_.push_back(
        part_of(vectors.block(k, k, vectors.rows() - k, width), tau.segment(k, width), k));
  }
}

template <typename T>
void BlockReflections<T>::apply(Block<T> c, bool is_undone) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[is_undone ? i : parts_.size() - 1 - i];
    reflect(part, is_undone, c.bottomRows(c.rows() - part.first));
  }
}

template <typename T>
void BlockReflections<T>::write_columns(Block<T> q) const {
  q.setIdentity();
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const std::int64_t first = parts_[i].first;
    reflect(parts_[i], false, q.bottomRightCorner(q.rows() - first, q.cols() - first));
  }
}

template class BlockReflections<double>;
template class BlockReflections<Complex>;

}  // namespace tilewright::graph::dense
