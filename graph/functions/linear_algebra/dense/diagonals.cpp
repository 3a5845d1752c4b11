#include "graph/functions/linear_algebra/dense/diagonals.h"

#include <Eigen/Householder>

namespace tilewright::graph::dense {
namespace {

// One reflection: 1 - tau v v^T, where v is 0 before the element `first` and 1 there, and as long
// as padded columns.
struct OneReflection {
  explicit OneReflection(std::int64_t size)
      : v(Vector<double>::Zero(PaddedColumns::padded(size))) {}
  // The reflection that makes zeros of the elements of x behind `first`; returns the element there.
  double set(const Vector<double>& x, std::int64_t first, std::int64_t size) {
    v.setZero();
    auto part = v.segment(first, size - first);
    part = x.segment(first, size - first);
    double length = 0;
    part.makeHouseholderInPlace(tau, length);
    part[0] = 1;
    return length;
  }
  const double* from(std::int64_t row) const { return v.data() + row / pack * pack; }
  Vector<double> v;
  double tau = 0;
};

}  // namespace

std::int64_t PaddedColumns::padded(std::int64_t rows) { return (rows + pack - 1) / pack * pack; }
PaddedColumns::PaddedColumns(const Matrix<double>& a)
    : all_(Matrix<double>::Zero(padded(a.rows()) + pack, a.cols())) {
  all_.topRows(a.rows()) = a;
}

// The changes of a reflection are subtracted in the loop that multiplies the matrix by the next
// vector. The row and the column that this vector comes from are brought up to date before. So the
// matrix is written once for each of its columns, and read twice.
void Bidiagonal<double>::compute(const Matrix<double>& a) {
  const std::int64_t m = a.rows(), n = a.cols();
  PaddedColumns rest(a);
  Matrix<double> of_left = Matrix<double>::Zero(m, n), of_right = Matrix<double>::Zero(n, n);
  Vector<double> left_tau(n), right_tau = Vector<double>::Zero(n);
  diagonal_.resize(n);
  above_.resize(n - 1);
  // The matrix is `rest` - left.v y^T - x right.v^T.
  OneReflection left(m), right(n);
  Vector<double> y = Vector<double>::Zero(n), x = Vector<double>::Zero(left.v.size()), line,
                 dots(n);
  for (std::int64_t k = 0; k < n; ++k) {
    line = Eigen::Map<const Vector<double>>(rest.column(0, k), m) - left.v.head(m) * y[k] -
           x.head(m) * right.v[k];
    OneReflection next(m);
    diagonal_[k] = next.set(line, k, m);
    left_tau[k] = next.tau;
    of_left.col(k) = next.v.head(m);
    const std::int64_t others = n - k - 1, rows = left.v.size() - k / pack * pack;
    if (others == 0) break;
    update_and_multiply(
        rest.column(k, k + 1), rest.step(), rows, others, {left.from(k), y.data() + k + 1},
        {x.data() + k / pack * pack, right.v.data() + k + 1}, next.from(k), dots.data() + k + 1);
    left = next;
    y.tail(others) = dots.tail(others) * left.tau;
    line.resize(n);
    for (std::int64_t j = k + 1; j < n; ++j) line[j] = rest.column(0, j)[k] - y[j];
    above_[k] = right.set(line, k + 1, n);
    right_tau[k] = right.tau;
    of_right.col(k) = right.v.head(n);
    add_columns(rest.column(k, k + 1), rest.step(), rows, others, right.v.data() + k + 1,
                x.data() + k / pack * pack);
    const double shared = y.tail(others).dot(right.v.segment(k + 1, others));
    x.tail(rows) = (x.tail(rows) - left.v.tail(rows) * shared) * right.tau;
  }
  left_.take(of_left, left_tau);
  right_.take(of_right.bottomLeftCorner(n - 1, n - 1), right_tau.head(n - 1));
}

// With one loop for each column, since the matrix is symmetric.
void Tridiagonal<double>::compute(const Matrix<double>& a) {
  const std::int64_t n = a.rows();
  PaddedColumns rest(a.selfadjointView<Eigen::Lower>());
  Matrix<double> vectors = Matrix<double>::Zero(n, n - 1);
  Vector<double> tau(n - 1), line, w = Vector<double>::Zero(PaddedColumns::padded(n)), dots(n);
  diagonal_.resize(n);
  beside_.resize(n - 1);
  OneReflection last(n);  // the matrix is `rest` - last.v w^T - w last.v^T
  for (std::int64_t k = 0; k < n; ++k) {
    line = Eigen::Map<const Vector<double>>(rest.column(0, k), n) - last.v.head(n) * w[k] -
           w.head(n) * last.v[k];
    diagonal_[k] = line[k];
    const std::int64_t others = n - k - 1, first = k + 1;
    if (others == 0) break;
    OneReflection next(n);
    beside_[k] = next.set(line, first, n);
    tau[k] = next.tau;
    vectors.col(k) = next.v.head(n);
    update_and_multiply(rest.column(first, first), rest.step(), w.size() - first / pack * pack,
                        others, {last.from(first), w.data() + first},
                        {w.data() + first / pack * pack, last.v.data() + first}, next.from(first),
                        dots.data() + first);
    last = next;
    w.setZero();
    w.segment(first, others) = dots.tail(others) * last.tau;
    w -= last.v * (w.dot(last.v) * last.tau / 2);
  }
  all_.take(vectors.bottomRows(n - 1), tau);
}

}  // namespace tilewright::graph::dense
