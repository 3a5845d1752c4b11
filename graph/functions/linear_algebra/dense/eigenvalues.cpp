// Ops that give eigenvalues of matrices that need not be symmetric.
#include <Eigen/Eigenvalues>
#include <limits>
#include <optional>

#include "graph/functions/linear_algebra/dense/batches.h"

namespace tilewright::graph::dense {
namespace {

// By powers of two the rows and columns of a matrix become of like size, which its eigenvalues gain
// from (B. Parlett and C. Reinsch: Balancing a matrix for calculation of eigenvalues and
// eigenvectors, 1969). Elements are up to 1; vectors are those of the matrix times these factors.
template <typename T>
Vector<double> balance(Matrix<T>& a) {
  const std::int64_t n = a.rows();
  Vector<double> factors = Vector<double>::Ones(n);
  bool is_done = false;
  for (int turn = 0; turn < 16 && !is_done; ++turn) {
    is_done = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const double own = std::abs(a(i, i));
      double column = a.col(i).template lpNorm<1>() - own,
             row = a.row(i).template lpNorm<1>() - own;
      if (!(column > 0) || !(row > 0)) continue;
      const double before = column + row;
      double factor = 1;
      for (; column < row / 2; column *= 2, row /= 2) factor *= 2;
      for (; column >= row * 2; column /= 2, row *= 2) factor /= 2;
      if (column + row >= 0.95 * before) continue;
      is_done = false;
      factors[i] *= factor;
      a.col(i) *= factor;
      a.row(i) /= factor;
    }
  }
  return factors;
}

template <typename T>
class Spectrum {
  using Solver = std::conditional_t<is_complex<T>, Eigen::ComplexEigenSolver<Matrix<T>>,
                                    Eigen::EigenSolver<Matrix<T>>>;

 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags flags) {
    const Shape& a = operands[0];
    std::vector<Part> parts = {{{a[0], a[1]}, Kind::complex}};
    if ((flags & values_only) == 0) parts.push_back({a, Kind::complex});
    return parts;
  }
  static double work(std::span<const Shape> operands) {
    const auto n = static_cast<double>(operands[0][1]);
    return 25 * n * n * n;
  }
  Spectrum(Operands& operands, Operands& results, Flags flags)
      : a_(operands.take<T>()), values_(results.take<Complex>()) {
    if ((flags & values_only) == 0) vectors_.emplace(results.take<Complex>());
  }
  void operator()(std::int64_t i) {
    a_.read(i, a);
    if (a.size() == 0) return;
    if (!is_finite(a) || !find()) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      values_.fill(i, nan);
      if (vectors_) vectors_->fill(i, nan);
      return;
    }
    values_.write(i, solver_.eigenvalues() * scale_);
    if (!vectors_) return;
    vectors = solver_.eigenvectors();
    vectors = factors_.asDiagonal() * vectors;
    for (std::int64_t j = 0; j < vectors.cols(); ++j) {
      auto column = vectors.col(j);
      std::int64_t greatest = 0;
      column.cwiseAbs2().maxCoeff(&greatest);
      const Complex element = column[greatest];
      const double size = std::abs(element);
      if (element.imag() != 0) {
        column *= std::conj(element) / size;
        column[greatest] = size;
      }
      column.stableNormalize();
    }
    vectors_->write(i, vectors);
  }

 private:
  bool find() {
    scale_ = scale_of(a);
    divide(a, scale_);
    factors_ = balance(a);
    solver_.compute(a, vectors_.has_value());
    return solver_.info() == Eigen::Success;
  }

  Field<T> a_;
  Field<Complex> values_;
  std::optional<Field<Complex>> vectors_;
  Matrix<T> a;
  Matrix<Complex> vectors;
  Vector<double> factors_;
  double scale_ = 1;
  Solver solver_;
};

}  // namespace

CustomOp spectrum(bool is_complex, Flags flags) {
  return op_of<Spectrum>("eig", is_complex, flags);
}

}  // namespace tilewright::graph::dense
