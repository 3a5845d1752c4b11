#include "graph/functions/linear_algebra/host_matrices.h"

#include "graph/functions/linear_algebra/matrices.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

ComplexTensor real_operand(const TensorOperand& x, std::string_view operation) {
  require(
      !x.is_number && is_floating(x.tensor.dtype()), "[", operation, "] the operand is ",
      x.is_number ? std::string("a number") : concat(x.tensor.dtype(), " [", x.tensor.shape(), "]"),
      "; matrices [.., m, n] of floats are wanted");
  return ComplexTensor(x.tensor);
}

HostMatrices::HostMatrices(std::string_view operation, std::initializer_list<ComplexParts> operands,
                           std::source_location w)
    : operation_(operation), where_(w) {
  bool is_single = true;
  for (const ComplexParts& x : operands) {
    require_matrices({x.real, w}, operation);
    is_complex_ |= x.imaginary.defined();
    is_single &= x.real.dtype() == DType::f32;
    dtype_ = x.real.dtype();
  }
  if (is_single) inner_ = DType::f32;
  const Tensor& first = operands.begin()->real;
  batch_ = Shape(first.shape().begin(), first.shape().end() - 2);
  rows_ = first.size(-2);
  columns_ = first.size(-1);
  for (const ComplexParts& x : operands) add(x, 2);
}

void HostMatrices::require_square() const {
  require(rows_ == columns_, "[", operation_, "] the matrices are [", rows_, ", ", columns_,
          "]; they must be square");
}

void HostMatrices::add_vectors(const ComplexParts& x) { add(x, 1); }

void HostMatrices::add(const ComplexParts& x, int own_axes) {
  Shape sizes = {element_count(batch_)};
  sizes.insert(sizes.end(), x.real.shape().end() - own_axes, x.real.shape().end());
  operands_.push_back(x.real.reshape(sizes, where_).to(inner_, where_));
  if (!is_complex_) return;
  operands_.push_back(x.imaginary.defined() ? x.imaginary.reshape(sizes, where_).to(inner_, where_)
                                            : zeros(sizes, inner_, where_));
}

void HostMatrices::call(const CustomOp& op) { results_ = op.all(operands_, where_); }

Tensor HostMatrices::next_number() {
  const Tensor& result = results_[taken_++];
  Shape sizes = batch_;
  sizes.insert(sizes.end(), result.shape().begin() + 1, result.shape().end());
  return result.reshape(sizes, where_);
}
Tensor HostMatrices::next_real() { return next_number().to(dtype_, where_); }

ComplexParts HostMatrices::next_complex() {
  Tensor real = next_real();
  return {real, next_real()};
}
ComplexParts HostMatrices::next() {
  return is_complex_ ? next_complex() : ComplexParts{next_real(), {}};
}

}  // namespace tilewright::graph
