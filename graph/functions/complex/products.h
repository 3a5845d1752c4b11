// Products of complex vectors, matrices and tensors, under PyTorch's names.
//
// Each means what the function of that name of real tensors does (graph/functions/reducing) and
// multiplies their parts, four real products for a complex one; a real operand halves them.
// Operands have one dtype. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright {

// Extends a function of two tensors that is linear in each to complex tensors:
// f(a, c) - f(b, d) + i (f(a, d) + f(b, c)) for a + bi and c + di.
template <typename F>
ComplexTensor multiply_parts(const ComplexTensor& x, const ComplexTensor& y, const F& function) {
  Tensor real = function(x.real(), y.real()), imaginary;
  if (!x.is_real() && !y.is_real()) real = real - function(x.imag(), y.imag());
  if (!x.is_real()) imaginary = function(x.imag(), y.real());
  if (!y.is_real()) {
    const Tensor other = function(x.real(), y.imag());
    imaginary = imaginary.defined() ? imaginary + other : other;
  }
  return {real, imaginary};
}

// The conjugate of the transposed matrices; of fewer than two axes the conjugate.
ComplexTensor adjoint(const ComplexTensor& z);

ComplexTensor matmul(const ComplexTensor& a, const ComplexTensor& b);
ComplexTensor linalg_multi_dot(const std::vector<ComplexTensor>& matrices);
ComplexTensor dot(const ComplexTensor& a, const ComplexTensor& b);
// dot and the sum of products along an axis, of which the first operand is conjugated.
ComplexTensor vdot(const ComplexTensor& a, const ComplexTensor& b);
ComplexTensor linalg_vecdot(const ComplexTensor& a, const ComplexTensor& b, int axis = -1);
ComplexTensor inner(const ComplexTensor& a, const ComplexTensor& b);
ComplexTensor outer(const ComplexTensor& a, const ComplexTensor& b);
ComplexTensor kron(const ComplexTensor& a, const ComplexTensor& b);
ComplexTensor cross(const ComplexTensor& a, const ComplexTensor& b, std::optional<int> axis = {});
ComplexTensor tensordot(const ComplexTensor& a, const ComplexTensor& b,
                        const std::vector<int>& axes_of_a, const std::vector<int>& axes_of_b);
// At most 6 operands.
ComplexTensor einsum(std::string_view equation, const std::vector<ComplexTensor>& operands);
// x [.., I], weight [O, I], bias [O]: x times the transposed weight, not conjugated.
ComplexTensor linear(const ComplexTensor& x, const ComplexTensor& weight);
ComplexTensor linear(const ComplexTensor& x, const ComplexTensor& weight,
                     const ComplexTensor& bias);

// The exponential of matrices [.., N, N].
ComplexTensor matrix_exp(const ComplexTensor& z);
// The powers 0 to count - 1 along a new last axis; as many as the last axis has if none are named.
ComplexTensor linalg_vander(const ComplexTensor& z, std::optional<std::int64_t> count = {});

}  // namespace tilewright
