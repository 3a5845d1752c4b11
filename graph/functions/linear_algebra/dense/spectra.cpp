// Ops that give eigenvalues of symmetric (Hermitian) matrices.
#include <Eigen/Eigenvalues>
#include <limits>
#include <optional>

#include "graph/functions/linear_algebra/dense/batches.h"

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
    bool is_found = is_finite(a.template triangularView<Eigen::Lower>().toDenseMatrix());
    if (is_found) {
      solver_.compute(a, vectors_ ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
      is_found = solver_.info() == Eigen::Success;
    }
    if (!is_found) {
      values_.fill(i, nan);
      if (vectors_) vectors_->fill(i, nan);
      return;
    }
    values_.write(i, solver_.eigenvalues());
    if (vectors_) vectors_->write(i, solver_.eigenvectors());
  }

 private:
  Field<T> a_;
  Field<double> values_;
  std::optional<Field<T>> vectors_;
  bool is_upper_;
  Matrix<T> a;
  Eigen::SelfAdjointEigenSolver<Matrix<T>> solver_;
};

}  // namespace

CustomOp symmetric_spectrum(bool is_complex, Flags flags) {
  return op_of<SymmetricSpectrum>("eigh", is_complex, flags);
}

}  // namespace tilewright::graph::dense
