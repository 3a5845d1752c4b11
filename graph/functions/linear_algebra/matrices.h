// What the functions of linear algebra share: batches of matrices with one axis for all of them,
// in f64, and the parts of a matrix that a loop over rows or columns looks at.
#pragma once

#include <string_view>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Loops of up to so many turns are captured turn by turn.
constexpr std::int64_t few_turns = 4;

// Raises `Error` "[operation] ..." where there are not two axes, or no floats.
void require_matrices(const TensorOperand& x, std::string_view operation);

// [.., m, n] as [b, m, n] of f64, and back in the operand's dtype.
struct Matrices {
  Matrices(const TensorOperand& x, std::string_view operation);
  std::int64_t rows() const { return all.size(1); }
  std::int64_t columns() const { return all.size(2); }
  void require_square(std::string_view operation) const;
  // [b, ..] with the operand's axes instead of b; in its dtype, unless that is an integer.
  Tensor restored(const Tensor& x) const;

  Tensor all;
  Shape batch;  // the operand's axes before the last two
  DType dtype;
};

// One row [b, n], or one column [b, m], of the number that a tensor without axes has.
Tensor row_at(const Tensor& matrices, const Tensor& number);
Tensor column_at(const Tensor& matrices, const Tensor& number);
// Of vectors [b, m], [b, n] the products of all elements, [b, m, n].
Tensor outer_products(const Tensor& a, const Tensor& b);
// 0, 1, .. along rows, [m, 1], and along columns, [1, n].
Tensor row_numbers(const Tensor& matrices);
Tensor column_numbers(const Tensor& matrices);
// [b, n, n], f64.
Tensor identities(std::int64_t b, std::int64_t n);

}  // namespace tilewright::graph
