// A call of an op of the host (dense/factors.h): batches of matrices as it takes them, in one dtype
// and with one axis for all of a batch, and what it gives as the caller wants it.
#pragma once

#include <source_location>
#include <string_view>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"
#include "graph/functions/custom/custom_op.h"

namespace tilewright::graph {

// A real operand as a complex tensor. Raises `Error` "[operation] ..." where it has no floats.
ComplexTensor real_operand(const TensorOperand& x, std::string_view operation);

class HostMatrices {
 public:
  // Operands [.., m, n] of equal batches. Raises `Error` "[operation] ..." where there are not two
  // axes, or no floats. Results have the dtype of the last operand.
  HostMatrices(std::string_view operation, std::initializer_list<ComplexParts> operands,
               std::source_location w);
  // One more: vectors [.., k].
  void add_vectors(const ComplexParts& x);
  void require_square() const;  // the first operand

  std::int64_t rows() const { return rows_; }  // of the first operand
  std::int64_t columns() const { return columns_; }
  bool is_complex() const { return is_complex_; }
  void call(const CustomOp& op);
  // The next result: of the matrices' kind, or of one.
  ComplexParts next();
  ComplexParts next_complex();
  Tensor next_real();
  Tensor next_number();  // not rounded to the operand's dtype

 private:
  void add(const ComplexParts& x, int own_axes);

  std::string_view operation_;
  std::source_location where_;
  Shape batch_;
  std::int64_t rows_ = 0, columns_ = 0;
  bool is_complex_ = false;
  DType dtype_ = DType::f64, inner_ = DType::f64;
  std::vector<Tensor> operands_, results_;
  std::size_t taken_ = 0;
};

}  // namespace tilewright::graph
