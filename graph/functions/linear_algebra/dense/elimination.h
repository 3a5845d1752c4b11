// Loops on one matrix from which the ops on systems of equations are made: elimination with
// exchanges of rows, roots, and substitution.
//
// Each divides what it works on in halves, so that most of the work is products of blocks (S.
// Toledo, Locality of reference in LU decomposition with partial pivoting, 1997), and what is left
// are plain loops which divide where the formula does: by a diagonal of 0 too, which gives
// infinities and NaN.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/functions/linear_algebra/dense/batches.h"
#include "graph/functions/linear_algebra/dense/block_products.h"

namespace tilewright::graph::dense {

template <typename T>
using Block = Eigen::Ref<Matrix<T>, 0, Eigen::OuterStride<>>;
template <typename T>
using ConstBlock = Eigen::Ref<const Matrix<T>, 0, Eigen::OuterStride<>>;

constexpr std::int64_t few_columns = 8;
// Blocks of a symmetric product, whose upper triangle is computed within such blocks alone.
constexpr std::int64_t columns_of_root = 32;

// LAPACK's measure of which element is the greatest.
inline double size_of(double x) { return std::abs(x); }
inline double size_of(const Complex& x) { return std::abs(x.real()) + std::abs(x.imag()); }
inline double real_of(double x) { return x; }
inline double real_of(const Complex& x) { return x.real(); }

template <typename T>
void exchange_rows(Block<T> a, std::int64_t first, std::span<const std::int64_t> pivots) {
  for (std::int64_t j = 0; j < a.cols(); ++j) {
    T* column = &a.coeffRef(0, j);
    for (std::size_t k = 0; k < pivots.size(); ++k)
      std::swap(column[first + static_cast<std::int64_t>(k)], column[pivots[k]]);
  }
}

// c -= a * b. c overlaps neither.
template <typename T>
void subtract_product(Block<T> c, const ConstBlock<T>& a, const ConstBlock<T>& b) {
  if constexpr (is_complex<T>)
    c.noalias() -= a * b;
  else
    subtract_product(ColumnsOfDoubles{c.data(), c.outerStride(), c.rows(), c.cols()},
                     ConstColumnsOfDoubles{a.data(), a.outerStride(), a.rows(), a.cols()},
                     ConstColumnsOfDoubles{b.data(), b.outerStride(), b.rows(), b.cols()});
}

// x of l x = x, l the lower triangle, or the upper one.
template <typename T>
void substitute(const ConstBlock<T>& l, Block<T> x, bool is_upper, bool has_ones) {
  const std::int64_t n = l.rows();
  if (n > few_columns) {
    const std::int64_t half = n / 2, rest = n - half;
    auto top = x.topRows(half), bottom = x.bottomRows(rest);
    if (is_upper) {
      substitute<T>(l.bottomRightCorner(rest, rest), bottom, true, has_ones);
      subtract_product<T>(top, l.topRightCorner(half, rest), bottom);
      substitute<T>(l.topLeftCorner(half, half), top, true, has_ones);
    } else {
      substitute<T>(l.topLeftCorner(half, half), top, false, has_ones);
      subtract_product<T>(bottom, l.bottomLeftCorner(rest, half), top);
      substitute<T>(l.bottomRightCorner(rest, rest), bottom, false, has_ones);
    }
    return;
  }
  for (std::int64_t j = 0; j < x.cols(); ++j) {
    T* column = &x.coeffRef(0, j);
    for (std::int64_t turn = 0; turn < n; ++turn) {
      const std::int64_t k = is_upper ? n - 1 - turn : turn;
      if (!has_ones) column[k] /= l(k, k);
      const T factor = column[k];
      const T* of_l = &l.coeffRef(0, k);
      for (std::int64_t i = is_upper ? 0 : k + 1; i < (is_upper ? k : n); ++i)
        column[i] -= of_l[i] * factor;
    }
  }
}

// Pivots are numbers of rows from 0 on. As LAPACK's, a column of zeros is passed over.
template <typename T>
void eliminate(Block<T> a, std::span<std::int64_t> pivots) {
  const std::int64_t m = a.rows(), n = a.cols(), count = std::min(m, n);
  if (count > few_columns) {
    const std::int64_t half = count / 2, rest = n - half;
    auto left = a.leftCols(half), right = a.rightCols(rest);
    auto first = pivots.first(static_cast<std::size_t>(half));
    auto second = pivots.subspan(static_cast<std::size_t>(half));
    eliminate<T>(left, first);
    exchange_rows<T>(right, 0, first);
    substitute<T>(left.topRows(half), right.topRows(half), false, true);
    auto below = right.bottomRows(m - half);
    subtract_product<T>(below, left.bottomRows(m - half), right.topRows(half));
    eliminate<T>(below, second);
    for (std::int64_t& pivot : second) pivot += half;
    exchange_rows<T>(left, half, second);
    return;
  }
  for (std::int64_t k = 0; k < count; ++k) {
    T* column = &a.coeffRef(0, k);
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (size_of(column[i]) > size_of(column[pivot])) pivot = i;
    pivots[static_cast<std::size_t>(k)] = pivot;
    if (column[pivot] == T(0)) continue;
    if (pivot != k) a.row(k).swap(a.row(pivot));
    const T diagonal = column[k];
    for (std::int64_t i = k + 1; i < m; ++i) column[i] /= diagonal;
    for (std::int64_t j = k + 1; j < n; ++j) {
      T* other = &a.coeffRef(0, j);
      const T factor = other[k];
      for (std::int64_t i = k + 1; i < m; ++i) other[i] -= column[i] * factor;
    }
  }
}

// The lower triangle becomes its root; what is above it is overwritten. Of a diagonal only the real
// part is read.
template <typename T>
void take_root(Block<T> a) {
  const std::int64_t n = a.rows();
  if (n > few_columns) {
    const std::int64_t half = n / 2, rest = n - half;
    take_root<T>(a.topLeftCorner(half, half));
    auto below = a.bottomLeftCorner(rest, half);
    Matrix<T> turned = below.adjoint();
    substitute<T>(a.topLeftCorner(half, half), turned, false, false);
    below = turned.adjoint();
    auto corner = a.bottomRightCorner(rest, rest);
    for (std::int64_t j = 0; j < rest; j += columns_of_root) {
      const std::int64_t columns = std::min(columns_of_root, rest - j);
      subtract_product<T>(corner.block(j, j, rest - j, columns), below.bottomRows(rest - j),
                          turned.middleCols(j, columns));
    }
    take_root<T>(corner);
    return;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    T* column = &a.coeffRef(0, k);
    const double root = std::sqrt(real_of(column[k]));
    column[k] = root;
    for (std::int64_t i = k + 1; i < n; ++i) column[i] /= root;
    for (std::int64_t j = k + 1; j < n; ++j) {
      T* other = &a.coeffRef(0, j);
      const T factor = Eigen::numext::conj(column[j]);
      for (std::int64_t i = j; i < n; ++i) other[i] -= column[i] * factor;
    }
  }
}

}  // namespace tilewright::graph::dense
