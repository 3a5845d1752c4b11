// Ops that give singular values: reflections make a matrix bidiagonal, and rotations diagonal.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "graph/functions/linear_algebra/dense/diagonal_iterations.h"
#include "graph/functions/linear_algebra/dense/diagonals.h"

namespace tilewright::graph::dense {
namespace {

// a = left * values * right^H of one matrix after the other.
template <typename T>
class SingularSolver {
 public:
  // The vectors that are wanted: none, as many as values, or all.
  enum class Vectors : std::uint8_t { none, thin, complete };
  explicit SingularSolver(Vectors vectors) : vectors_(vectors) {}

  // Elements of a, which is not empty, are finite. False if the iteration does not converge.
  bool compute(const Matrix<T>& a) {
    const bool is_wide = a.cols() > a.rows();
    const double scale = scale_of(a);
    tall_ = is_wide ? Matrix<T>(a.adjoint()) : a;
    divide(tall_, scale);
    if (!find_values()) return false;
    put_in_order();
    values_ = values_ * scale;
    if (vectors_ == Vectors::none) return true;
    make_vectors();
    if (is_wide) left_.swap(right_);
    return true;
  }
  const Vector<double>& values() const { return values_; }
  const Matrix<T>& left() const { return left_; }
  const Matrix<T>& right() const { return right_; }

 private:
  // A matrix with so many rows for each column is made a triangle first.
  bool has_triangle() const { return tall_.rows() > 2 * tall_.cols(); }

  bool find_values() {
    const std::int64_t n = tall_.cols();
    if (has_triangle()) {
      triangular_.factor(tall_);
      triangle_ = tall_.topRows(n).template triangularView<Eigen::Upper>();
    }
    bidiagonal_.compute(has_triangle() ? triangle_ : tall_);
    values_ = bidiagonal_.diagonal();
    Vector<double> above = bidiagonal_.above();
    const bool wants_vectors = vectors_ != Vectors::none;
    if (wants_vectors && !of_rows_) {
      of_rows_.emplace(n);
      of_columns_.emplace(n);
    }
    if (wants_vectors) {
      of_rows_->set_identity();
      of_columns_->set_identity();
    }
    return find_singular_values({values_.data(), static_cast<std::size_t>(n)},
                                {above.data(), static_cast<std::size_t>(n - 1)},
                                wants_vectors ? &*of_rows_ : nullptr,
                                wants_vectors ? &*of_columns_ : nullptr);
  }
  void put_in_order() {
    const std::int64_t n = values_.size();
    for (std::int64_t i = 0; i < n && of_rows_; ++i)
      if (values_[i] < 0) of_rows_->negate(i);
    values_ = values_.cwiseAbs().eval();
    order_.resize(static_cast<std::size_t>(n));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    std::ranges::stable_sort(order_, [&](auto i, auto j) { return values_[i] > values_[j]; });
    const Vector<double> unordered = values_;
    for (std::int64_t i = 0; i < n; ++i)
      values_[i] = unordered[order_[static_cast<std::size_t>(i)]];
  }
  void make_vectors() {
    const std::int64_t m = tall_.rows(), n = tall_.cols();
    left_.setIdentity(m, vectors_ == Vectors::complete ? m : n);
    right_.resize(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t from = order_[static_cast<std::size_t>(i)];
      left_.col(i).head(n) = of_rows_->column(from).template cast<T>();
      right_.col(i) = of_columns_->column(from).template cast<T>();
    }
    if (has_triangle()) {
      bidiagonal_.apply_left(left_.topLeftCorner(n, n));
      triangular_.apply(left_, false);
    } else {
      bidiagonal_.apply_left(left_);
    }
    bidiagonal_.apply_right(right_);
  }

  Vectors vectors_;
  Matrix<T> tall_, triangle_, left_, right_;
  Vector<double> values_;
  std::vector<std::int64_t> order_;
  BlockReflections<T> triangular_;
  Bidiagonal<T> bidiagonal_;
  std::optional<RotatedColumns> of_rows_, of_columns_;
};

template <typename T>
class SingularVectors {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags flags) {
    const Shape& a = operands[0];
    const std::int64_t count = std::min(a[1], a[2]);
    const Part values = {{a[0], count}, Kind::real};
    if ((flags & values_only) != 0) return {values};
    const bool is_complete = (flags & complete) != 0;
    return {{{a[0], a[1], is_complete ? a[1] : count}},
            values,
            {{a[0], a[2], is_complete ? a[2] : count}}};
  }
  static double work(std::span<const Shape> operands) {
    const Shape& a = operands[0];
    return 20 * static_cast<double>(a[1]) * static_cast<double>(a[2]) *
           static_cast<double>(std::min(a[1], a[2]));
  }
  SingularVectors(Operands& operands, Operands& results, Flags flags)
      : a_(operands.take<T>()), solver_(wanted(flags)) {
    const bool wants_vectors = wanted(flags) != Solver::Vectors::none;
    if (wants_vectors) left_.emplace(results.take<T>());
    values_.emplace(results.take<double>());
    if (wants_vectors) right_.emplace(results.take<T>());
  }
  void operator()(std::int64_t i) {
    a_.read(i, a);
    if (a.size() == 0) {
      if (left_) left_->write(i, identity(*left_));
      if (right_) right_->write(i, identity(*right_));
      return;
    }
    if (is_finite(a) && solver_.compute(a)) {
      values_->write(i, solver_.values());
      if (left_) left_->write(i, solver_.left());
      if (right_) right_->write(i, solver_.right());
      return;
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    values_->fill(i, nan);
    if (left_) left_->fill(i, nan);
    if (right_) right_->fill(i, nan);
  }

 private:
  using Solver = SingularSolver<T>;
  static typename Solver::Vectors wanted(Flags flags) {
    if ((flags & values_only) != 0) return Solver::Vectors::none;
    return (flags & complete) != 0 ? Solver::Vectors::complete : Solver::Vectors::thin;
  }
  static Matrix<T> identity(const Field<T>& of) {
    return Matrix<T>::Identity(of.rows(), of.columns());
  }

  Field<T> a_;
  std::optional<Field<T>> left_, right_;
  std::optional<Field<double>> values_;
  Matrix<T> a;
  Solver solver_;
};

}  // namespace

CustomOp singular_values(bool is_complex, Flags flags) {
  return op_of<SingularVectors>("svd", is_complex, flags);
}

}  // namespace tilewright::graph::dense
