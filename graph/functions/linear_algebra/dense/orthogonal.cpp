// Ops on orthogonal matrices that are products of reflections.
#include "graph/functions/linear_algebra/dense/block_reflections.h"

namespace tilewright::graph::dense {
namespace {

double cube(const Shape& a) {
  return 2 * static_cast<double>(a[1]) * static_cast<double>(a[2]) *
         static_cast<double>(std::min(a[1], a[2]));
}

template <typename T>
class Reflections {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    const Shape& a = operands[0];
    return {{a}, {{a[0], std::min(a[1], a[2])}}};
  }
  static double work(std::span<const Shape> operands) { return cube(operands[0]); }
  Reflections(Operands& operands, Operands& results, Flags)
      : a_(operands.take<T>()), factors_(results.take<T>()), tau_(results.take<T>()) {}
  void operator()(std::int64_t i) {
    a_.read(i, a);
    const double scale = scale_of(a);
    divide(a, scale);
    reflections_.factor(a);
    upper_ = a.template triangularView<Eigen::Upper>();  // below it are the reflections
    multiply(upper_, scale);
    a.template triangularView<Eigen::Upper>() = upper_;
    factors_.write(i, a);
    tau_.write(i, reflections_.tau());
  }

 private:
  Field<T> a_, factors_, tau_;
  Matrix<T> a, upper_;
  BlockReflections<T> reflections_;
};

template <typename T>
class Reflected {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags) {
    return {{operands[1]}};
  }
  static double work(std::span<const Shape> operands) {
    return 4 * static_cast<double>(operands[1][1]) * static_cast<double>(operands[1][2]) *
           static_cast<double>(operands[2][1]);
  }
  Reflected(Operands& operands, Operands& results, Flags flags)
      : vectors_(operands.take<T>()),
        x_(operands.take<T>()),
        tau_(operands.take<T>()),
        product_(results.take<T>()),
        is_undone_((flags & undone) != 0) {}
  void operator()(std::int64_t i) {
    vectors_.read(i, vectors);
    tau_.read(i, tau);
    x_.read(i, x);
    reflections_.take(vectors, tau.col(0));
    reflections_.apply(x, is_undone_);
    product_.write(i, x);
  }

 private:
  Field<T> vectors_, x_, tau_, product_;
  bool is_undone_;
  Matrix<T> vectors, tau, x;
  BlockReflections<T> reflections_;
};

template <typename T>
class Orthogonal {
 public:
  static std::vector<Part> results(std::span<const Shape> operands, Flags flags) {
    const Shape& a = operands[0];
    const std::int64_t count = (flags & complete) != 0 ? a[1] : std::min(a[1], a[2]);
    return {{{a[0], a[1], count}}, {{a[0], count, a[2]}}};
  }
  static double work(std::span<const Shape> operands) { return 2 * cube(operands[0]); }
  Orthogonal(Operands& operands, Operands& results, Flags)
      : a_(operands.take<T>()), q_(results.take<T>()), r_(results.take<T>()) {}
  void operator()(std::int64_t i) {
    a_.read(i, a);
    const double scale = scale_of(a);
    divide(a, scale);
    reflections_.factor(a);
    r = a.topRows(r_.rows());
    multiply(r, scale);
    r.template triangularView<Eigen::StrictlyLower>().setZero();
    r_.write(i, r);
    q.resize(q_.rows(), q_.columns());
    reflections_.write_columns(q);
    q_.write(i, q);
  }

 private:
  Field<T> a_, q_, r_;
  Matrix<T> a, q, r;
  BlockReflections<T> reflections_;
};

}  // namespace

CustomOp reflections(bool is_complex) { return op_of<Reflections>("geqrf", is_complex, 0); }
CustomOp reflected(bool is_complex, Flags flags) {
  return op_of<Reflected>("reflected", is_complex, flags);
}
CustomOp orthogonal(bool is_complex, Flags flags) {
  return op_of<Orthogonal>("qr", is_complex, flags);
}

}  // namespace tilewright::graph::dense
