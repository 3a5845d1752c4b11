// Complex values of an exported program, in real tensors.
//
// The library has no complex element types. A value that is complex in the program is a pair of
// tensors of one shape and float dtype, its real and its imaginary part; PyTorch's storage, pairs
// of adjacent numbers, is a real tensor with a last axis of 2, of which the parts are views. So
// inputs and weights, view_as_complex and view_as_real of its result cost nothing, and intermediate
// values are never put into pairs.
#pragma once

#include <optional>

#include "graph/functions/fourier/fourier.h"
#include "graph/tensor/tensor.h"

namespace tilewright::exported {

class ComplexTensor {
 public:
  // Parts that differ are brought to the shape they broadcast to, and to the dtype of the two that
  // holds both.
  ComplexTensor(const Tensor& real, const Tensor& imaginary);
  ComplexTensor(const ComplexParts& parts) : ComplexTensor(parts.real, parts.imaginary) {}
  // Sees a tensor [.., 2].
  static ComplexTensor of_pairs(const Tensor& pairs);

  const Tensor& real() const { return real_; }
  const Tensor& imaginary() const { return imaginary_; }
  // [.., 2]: the tensor that this sees, or a new one.
  Tensor pairs() const;
  const Shape& shape() const { return real_.shape(); }
  int rank() const { return real_.rank(); }
  // With memory of its own, in pairs.
  ComplexTensor clone() const { return of_pairs(pairs().clone()); }
  void copy_from(const ComplexTensor& source) const;

 private:
  Tensor real_, imaginary_;
  Tensor pairs_;  // undefined where it was computed
};

// An operand that meets a complex value in an operator: another complex value, or a real tensor, or
// a number of either kind. Without an imaginary part it is real.
struct ComplexOperand {
  ComplexOperand(const ComplexTensor& z) : real(z.real()), imaginary(z.imaginary()) {}
  ComplexOperand(TensorOperand real, std::optional<TensorOperand> imaginary = {})
      : real(std::move(real)), imaginary(std::move(imaginary)) {}
  TensorOperand real;
  std::optional<TensorOperand> imaginary;
};

// A number as a tensor without axes, of the dtype that it has beside tensors of this one.
Tensor tensor_of(const TensorOperand& operand, DType dtype);

}  // namespace tilewright::exported
