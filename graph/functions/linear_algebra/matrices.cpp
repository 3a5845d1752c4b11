#include "graph/functions/linear_algebra/matrices.h"

#include "runtime/base/error.h"

namespace tilewright::graph {

void require_matrices(const TensorOperand& x, std::string_view operation) {
  require(
      !x.is_number && x.tensor.rank() >= 2 && is_floating(x.tensor.dtype()), "[", operation,
      "] the operand is ",
      x.is_number ? std::string("a number") : concat(x.tensor.dtype(), " [", x.tensor.shape(), "]"),
      "; matrices [.., m, n] of floats are wanted");
}

Matrices::Matrices(const TensorOperand& x, std::string_view operation) {
  require_matrices(x, operation);
  const Tensor& tensor = x.tensor;
  batch = Shape(tensor.shape().begin(), tensor.shape().end() - 2);
  dtype = tensor.dtype();
  all = tensor.to(DType::f64).reshape({element_count(batch), tensor.size(-2), tensor.size(-1)});
}

void Matrices::require_square(std::string_view operation) const {
  require(rows() == columns(), "[", operation, "] the matrices are [", rows(), ", ", columns(),
          "]; they must be square");
}

Tensor Matrices::restored(const Tensor& x) const {
  Shape sizes = batch;
  sizes.insert(sizes.end(), x.shape().begin() + 1, x.shape().end());
  return x.reshape(sizes).to(is_floating(x.dtype()) ? dtype : x.dtype());
}

Tensor row_at(const Tensor& matrices, const Tensor& number) {
  return sum(where(row_numbers(matrices) == number, matrices, 0.0), {1});
}
Tensor column_at(const Tensor& matrices, const Tensor& number) {
  return sum(where(column_numbers(matrices) == number, matrices, 0.0), {2});
}
Tensor outer_products(const Tensor& a, const Tensor& b) { return a.unsqueeze(2) * b.unsqueeze(1); }
Tensor row_numbers(const Tensor& matrices) { return arange(0, matrices.size(1)).unsqueeze(1); }
Tensor column_numbers(const Tensor& matrices) { return arange(0, matrices.size(2)).unsqueeze(0); }
Tensor identities(std::int64_t b, std::int64_t n) {
  return (arange(0, n).unsqueeze(1) == arange(0, n)).to(DType::f64).unsqueeze(0).expand({b, n, n});
}

}  // namespace tilewright::graph
