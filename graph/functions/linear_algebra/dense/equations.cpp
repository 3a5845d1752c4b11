// Ops on systems of linear equations.
#include <cmath>
#include <numeric>

#include "graph/functions/linear_algebra/dense/elimination.h"

namespace tilewright::graph::dense {
namespace {

double cube(const Shape& a) {
  return static_cast<double>(a[1]) * static_cast<double>(a[2]) *
         static_cast<double>(std::min(a[1], a[2]));
}

// A matrix in memory of its own, with its rows exchanged and its factors in place of it.
template <typename T>
class Eliminated {
 public:
  explicit Eliminated(Field<T> a)
      : a_(std::move(a)), pivots_(static_cast<std::size_t>(std::min(a_.rows(), a_.columns()))) {}
  void take(std::int64_t i) {
    a_.read(i, factors_);
    eliminate<T>(factors_, pivots_);
  }
  const Matrix<T>& factors() const { return factors_; }
  std::span<const std::int64_t> pivots() const { return pivots_; }
  bool is_odd() const {
    bool odd = false;
    for (std::size_t k = 0; k < pivots_.size(); ++k)
      odd ^= pivots_[k] != static_cast<std::int64_t>(k);
    return odd;
  }
  // In place: x of a x = x.
  void solve(Matrix<T>& x) const {
    exchange_rows<T>(x, 0, pivots_);
    substitute<T>(factors_, x, false, true);
    substitute<T>(factors_, x, true, false);
  }

 private:
  Field<T> a_;
  Matrix<T> factors_;
  std::vector<std::int64_t> pivots_;
};

template <typename T>
class Lu {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    const Shape& a = operands[0];
    return {{a},
            {{a[0], std::min(a[1], a[2])}, Kind::real},
            {{a[0], a[1]}, Kind::real},
            {{a[0]}, Kind::real}};
  }
  static double work(std::span<const Shape> operands) { return cube(operands[0]); }
  Lu(Operands& operands, Operands& results, Flags)
      : eliminated_(operands.take<T>()),
        factors_(results.take<T>()),
        pivots_(results.take<double>()),
        rows_(results.take<double>()),
        sign_(results.take<double>()) {}
  void operator()(std::int64_t i) {
    eliminated_.take(i);
    factors_.write(i, eliminated_.factors());
    const auto pivots = eliminated_.pivots();
    Vector<double> places(std::ssize(pivots)), rows(rows_.rows());
    std::iota(rows.begin(), rows.end(), 0.0);
    for (std::int64_t k = 0; k < places.size(); ++k) {
      const std::int64_t pivot = pivots[static_cast<std::size_t>(k)];
      places[k] = static_cast<double>(pivot + 1);
      std::swap(rows[k], rows[pivot]);
    }
    pivots_.write(i, places);
    rows_.write(i, rows);
    sign_.fill(i, eliminated_.is_odd() ? -1 : 1);
  }

 private:
  Eliminated<T> eliminated_;
  Field<T> factors_;
  Field<double> pivots_, rows_, sign_;
};

template <typename T>
class Solution {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    return {{operands[1]}};
  }
  static double work(std::span<const Shape> operands) {
    return cube(operands[0]) *
           (1 + static_cast<double>(operands[1][2]) /
                    static_cast<double>(std::max<std::int64_t>(1, operands[0][1])));
  }
  Solution(Operands& operands, Operands& results, Flags)
      : eliminated_(operands.take<T>()), b_(operands.take<T>()), x_(results.take<T>()) {}
  void operator()(std::int64_t i) {
    eliminated_.take(i);
    b_.read(i, x);
    eliminated_.solve(x);
    x_.write(i, x);
  }

 private:
  Eliminated<T> eliminated_;
  Field<T> b_, x_;
  Matrix<T> x;
};

template <typename T>
class Inverse {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    return {{operands[0]}};
  }
  static double work(std::span<const Shape> operands) { return 3 * cube(operands[0]); }
  Inverse(Operands& operands, Operands& results, Flags)
      : eliminated_(operands.take<T>()), inverse_(results.take<T>()) {}
  void operator()(std::int64_t i) {
    eliminated_.take(i);
    x.setIdentity(inverse_.rows(), inverse_.columns());
    eliminated_.solve(x);
    inverse_.write(i, x);
  }

 private:
  Eliminated<T> eliminated_;
  Field<T> inverse_;
  Matrix<T> x;
};

template <typename T>
class Determinant {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    const Shape one = {operands[0][0]};
    return {{one}, {one}, {one, Kind::real}};
  }
  static double work(std::span<const Shape> operands) { return cube(operands[0]); }
  Determinant(Operands& operands, Operands& results, Flags)
      : eliminated_(operands.take<T>()),
        whole_(results.take<T>()),
        direction_(results.take<T>()),
        log_(results.take<double>()) {}
  void operator()(std::int64_t i) {
    eliminated_.take(i);
    T whole = eliminated_.is_odd() ? -1 : 1, direction = whole;
    double log = 0;
    for (std::int64_t k = 0; k < eliminated_.factors().cols(); ++k) {
      const T each = eliminated_.factors()(k, k);
      const double size = std::abs(each);
      whole *= each;
      direction *= size == 0 ? T(0) : each / size;
      log += std::log(size);
    }
    auto one = [](auto x) { return Eigen::Matrix<decltype(x), 1, 1>(x); };
    whole_.write(i, one(whole));
    direction_.write(i, one(direction));
    log_.write(i, one(log));
  }

 private:
  Eliminated<T> eliminated_;
  Field<T> whole_, direction_;
  Field<double> log_;
};

template <typename T>
class TriangularSolution {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    return {{operands[1]}};
  }
  static double work(std::span<const Shape> operands) {
    return static_cast<double>(operands[0][1] * operands[0][1]) *
           static_cast<double>(operands[1][2]);
  }
  TriangularSolution(Operands& operands, Operands& results, Flags flags)
      : a_(operands.take<T>()), b_(operands.take<T>()), x_(results.take<T>()), flags_(flags) {}
  void operator()(std::int64_t i) {
    a_.read(i, a);
    b_.read(i, x);
    substitute<T>(a, x, (flags_ & upper) != 0, (flags_ & unit_diagonal) != 0);
    x_.write(i, x);
  }

 private:
  Field<T> a_, b_, x_;
  Flags flags_;
  Matrix<T> a, x;
};

template <typename T>
class Root {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    return {{operands[0]}};
  }
  static double work(std::span<const Shape> operands) { return cube(operands[0]) / 3; }
  Root(Operands& operands, Operands& results, Flags flags)
      : a_(operands.take<T>()), root_(results.take<T>()), is_upper_((flags & upper) != 0) {}
  void operator()(std::int64_t i) {
    a_.read(i, a);
    if (is_upper_) a = a.adjoint().eval();
    take_root<T>(a);
    a.template triangularView<Eigen::StrictlyUpper>().setZero();
    if (is_upper_)
      root_.write(i, a.adjoint());
    else
      root_.write(i, a);
  }

 private:
  Field<T> a_, root_;
  bool is_upper_;
  Matrix<T> a;
};

}  // namespace

CustomOp lu(bool is_complex) { return op_of<Lu>("lu", is_complex, 0); }
CustomOp solution(bool is_complex) { return op_of<Solution>("solve", is_complex, 0); }
CustomOp inverse(bool is_complex) { return op_of<Inverse>("inverse", is_complex, 0); }
CustomOp determinant(bool is_complex) { return op_of<Determinant>("determinant", is_complex, 0); }
CustomOp triangular_solution(bool is_complex, Flags flags) {
  return op_of<TriangularSolution>("solve_triangular", is_complex, flags);
}
CustomOp cholesky(bool is_complex, Flags flags) {
  return op_of<Root>("cholesky", is_complex, flags);
}

}  // namespace tilewright::graph::dense
