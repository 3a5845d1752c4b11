// Arithmetic of complex numbers, in functions of real tensors.
//
// Magnitudes and quotients do not overflow where the result does not, and are PyTorch's for
// infinities and NaN, too. A real factor multiplies both parts, where PyTorch's has an imaginary
// part of 0, so that the product of an infinity and a real number has no NaN here.
#pragma once

#include "models/exported/complex/complex_tensor.h"

namespace tilewright::exported {

ComplexTensor product(const ComplexOperand& a, const ComplexOperand& b);
ComplexTensor quotient(const ComplexOperand& a, const ComplexOperand& b);
ComplexTensor power(const ComplexOperand& base, const ComplexOperand& exponent);
Tensor is_equal(const ComplexOperand& a, const ComplexOperand& b);

Tensor magnitude(const ComplexTensor& z);
Tensor angle(const ComplexTensor& z);
ComplexTensor polar(const Tensor& magnitude, const Tensor& angle);
ComplexTensor conjugate(const ComplexTensor& z);
ComplexTensor negative(const ComplexTensor& z);
ComplexTensor reciprocal(const ComplexTensor& z);
ComplexTensor direction(const ComplexTensor& z);  // of magnitude 1, or 0

// Over an axis: one product, and all from the first element on.
ComplexTensor product_over(const ComplexTensor& z, int axis, bool keeps_axis);
ComplexTensor cumulative_product(const ComplexTensor& z, int axis);

// For a function that is linear in each operand, both tensors, as products of matrices are.
template <typename F>
ComplexTensor of_bilinear(const ComplexOperand& a, const ComplexOperand& b, const F& function) {
  Tensor real = function(a.real.tensor, b.real.tensor), imaginary;
  if (a.imaginary && b.imaginary) real = real - function(a.imaginary->tensor, b.imaginary->tensor);
  if (a.imaginary) imaginary = function(a.imaginary->tensor, b.real.tensor);
  if (b.imaginary) {
    const Tensor other = function(a.real.tensor, b.imaginary->tensor);
    imaginary = imaginary.defined() ? imaginary + other : other;
  }
  return {real, imaginary.defined() ? imaginary : zeros(real.shape(), real.dtype())};
}

}  // namespace tilewright::exported
