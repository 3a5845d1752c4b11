// Products of reflections 1 - tau v v^H, applied many at a time: k of them are 1 - V T V^H, which
// is three products of matrices (R. Schreiber and C. Van Loan, A storage-efficient WY
// representation for products of Householder transformations, 1989).
//
// Eigen's HouseholderQR does the same, but its products use only the vector instructions that all
// processors have.
#pragma once

#include "graph/functions/linear_algebra/dense/elimination.h"

namespace tilewright::graph::dense {

template <typename T>
class BlockReflections {
 public:
  // Factors a into the product of the reflections, with LAPACK's tau, and an upper triangle, which
  // it becomes. Below the diagonal are the reflections' vectors, without their first element, 1.
  void factor(Block<T> a);
  // Takes the vectors from below the diagonal of `vectors`.
  void take(const ConstBlock<T>& vectors, const Vector<T>& tau);

  const Vector<T>& tau() const { return tau_; }
  // c becomes the product times c, or, undone, its inverse times c.
  void apply(Block<T> c, bool is_undone) const;
  // As many first columns of the product as q has.
  void write_columns(Block<T> q) const;

 private:
  // Consecutive reflections.
  struct Part {
    std::int64_t first;
    Matrix<T> vectors, adjoint, triangle;
  };
  static Part part_of(const ConstBlock<T>& vectors, const Vector<T>& tau, std::int64_t first);
  static void reflect(const Part& part, bool is_undone, Block<T> c);
  static void factor_columns(Block<T> a, Eigen::Ref<Vector<T>> tau);

  Vector<T> tau_;
  std::vector<Part> parts_;
};

extern template class BlockReflections<double>;
extern template class BlockReflections<Complex>;

}  // namespace tilewright::graph::dense
