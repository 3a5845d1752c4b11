// Ops that give eigenvalues of symmetric (Hermitian) matrices: reflections make a matrix
// tridiagonal, and rotations diagonal.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "graph/functions/linear_algebra/dense/diagonal_iterations.h"
#include "graph/functions/linear_algebra/dense/diagonals.h"

namespace tilewright::graph::dense {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
class SymmetricSpectrum {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags flags) {
    const Shape& a = operands[0];
    std::vector<Part> parts = {{{a[0], a[1]}, Kind::real}};
    if ((flags & values_only) == 0) parts.push_back({a});
    return parts;
  }
  static double work(std::span<const Shape> operands) {
    const auto n = static_cast<double>(operands[0][1]);
    return 8 * n * n * n;
  }
  SymmetricSpectrum(Operands& operands, Operands& results, Flags flags)
      : a_(operands.take<T>()), values_(results.take<double>()), is_upper_((flags & upper) != 0) {
    if ((flags & values_only) == 0) vectors_.emplace(results.take<T>());
  }
  void operator()(std::int64_t i) {
    a_.read(i, a);
    if (a.size() == 0) return;
    if (is_upper_) a = a.adjoint().eval();
    if (!is_finite_below() || !is_solved()) {
      values_.fill(i, nan);
      if (vectors_) vectors_->fill(i, nan);
      return;
    }
    std::ranges::stable_sort(order_, [&](auto j, auto k) { return values[j] < values[k]; });
    const std::int64_t n = a.rows();
    ordered_.resize(n);
    for (std::int64_t j = 0; j < n; ++j) ordered_[j] = values[order_[static_cast<std::size_t>(j)]];
    values_.write(i, ordered_);
    if (!vectors_) return;
    vectors.resize(n, n);
    for (std::int64_t j = 0; j < n; ++j)
      vectors.col(j) = rotated_->column(order_[static_cast<std::size_t>(j)]).template cast<T>();
    if (n > 1) tridiagonal_.apply(vectors);
    vectors_->write(i, vectors);
  }

 private:
  // The part of a column that is read.
  auto below(std::int64_t column) const { return a.col(column).tail(a.rows() - column); }
  bool is_finite_below() const {
    for (std::int64_t j = 0; j < a.cols(); ++j)
      if (!is_finite(below(j))) return false;
    return true;
  }
  // The values and the rotations of the tridiagonal matrix, in no order.
  bool is_solved() {
    const std::int64_t n = a.rows();
    const double scale = scale_of(a.template triangularView<Eigen::Lower>().toDenseMatrix());
    divide(a, scale);
    order_.resize(static_cast<std::size_t>(n));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    if (vectors_ && !rotated_) rotated_.emplace(n);
    if (rotated_) rotated_->set_identity();
    Vector<double> beside;
    if (n > 1) {
      tridiagonal_.compute(a);
      values = tridiagonal_.diagonal();
      beside = tridiagonal_.beside();
    } else {
      values = a.real();
    }
    const bool is_found = find_eigenvalues({values.data(), static_cast<std::size_t>(n)},
                                           {beside.data(), static_cast<std::size_t>(n - 1)},
                                           rotated_ ? &*rotated_ : nullptr);
    values *= scale;
    return is_found;
  }

  Field<T> a_;
  Field<double> values_;
  std::optional<Field<T>> vectors_;
  bool is_upper_;
  Matrix<T> a, vectors;
  Vector<double> values, ordered_;
  std::vector<std::int64_t> order_;
  Tridiagonal<T> tridiagonal_;
  std::optional<RotatedColumns> rotated_;
};

}  // namespace

CustomOp symmetric_spectrum(bool is_complex, Flags flags) {
  return op_of<SymmetricSpectrum>("eigh", is_complex, flags);
}

}  // namespace tilewright::graph::dense
