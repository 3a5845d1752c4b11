// Ops that give singular values.
#include <Eigen/SVD>
#include <limits>
#include <optional>

#include "graph/functions/linear_algebra/dense/batches.h"

namespace tilewright::graph::dense {
namespace {

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
  SingularVectors(Operands& operands, Operands& results, Flags flags) : a_(operands.take<T>()) {
    if ((flags & values_only) == 0) {
      options_ = (flags & complete) != 0 ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                         : Eigen::ComputeThinU | Eigen::ComputeThinV;
      left_.emplace(results.take<T>());
    }
    values_.emplace(results.take<double>());
    if (options_ != 0) right_.emplace(results.take<T>());
  }
  void operator()(std::int64_t i) {
    a_.read(i, a);
    if (a.size() == 0) {
      if (options_ != 0) left_->write(i, identity(*left_));
      if (options_ != 0) right_->write(i, identity(*right_));
      return;
    }
    bool is_found = is_finite(a);
    if (is_found) {
      solver_.compute(a, options_);
      is_found = solver_.info() == Eigen::Success;
    }
    if (is_found) {
      values_->write(i, solver_.singularValues());
      if (options_ != 0) left_->write(i, solver_.matrixU());
      if (options_ != 0) right_->write(i, solver_.matrixV());
      return;
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    values_->fill(i, nan);
    if (options_ != 0) left_->fill(i, nan);
    if (options_ != 0) right_->fill(i, nan);
  }

 private:
  static Matrix<T> identity(const Field<T>& of) {
    return Matrix<T>::Identity(of.rows(), of.columns());
  }

  Field<T> a_;
  std::optional<Field<T>> left_, right_;
  std::optional<Field<double>> values_;
  unsigned options_ = 0;
  Matrix<T> a;
  Eigen::BDCSVD<Matrix<T>> solver_;
};

}  // namespace

CustomOp singular_values(bool is_complex, Flags flags) {
  return op_of<SingularVectors>("svd", is_complex, flags);
}

}  // namespace tilewright::graph::dense
