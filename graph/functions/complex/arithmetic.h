// Arithmetic of complex tensors, element by element, under PyTorch's names.
//
//   z + w   z - w   z * w   z / w   pow(z, w)   z == w   z != w
//
// One operand is a complex tensor; the other may be a real tensor or a number, real or complex
// (complex_tensor.h declares them). Operands broadcast, and the result has the wider parts.
//
// Magnitudes and quotients do not overflow where the result does not, and are PyTorch's for
// infinities and NaN; division by 0 gives the infinities and NaN of real division. A real factor
// multiplies both parts, where PyTorch's has an imaginary part of 0, so that the product of an
// infinity and a real number has no NaN here. Whole exponents up to 16 are products. Misuse raises
// `Error`; safe to call from several threads.
#pragma once

#include "graph/functions/complex/complex_tensor.h"
#include "graph/functions/pointwise/arithmetic.h"

namespace tilewright {

ComplexTensor operator-(const ComplexTensor& z);
ComplexTensor conj(const ComplexTensor& z);
ComplexTensor reciprocal(const ComplexTensor& z);
ComplexTensor square(const ComplexTensor& z);
// start + weight (end - start).
ComplexTensor lerp(const ComplexTensor& start, const ComplexTensor& end,
                   const ComplexOperand& weight);
// z + value a b, and z + value a / b.
ComplexTensor addcmul(const ComplexTensor& z, const ComplexOperand& a, const ComplexOperand& b,
                      const ComplexOperand& value = 1);
ComplexTensor addcdiv(const ComplexTensor& z, const ComplexOperand& a, const ComplexOperand& b,
                      const ComplexOperand& value = 1);

// The magnitude, and the angle from the real axis, in [-pi, pi].
Tensor abs(const ComplexTensor& z);
Tensor angle(const ComplexTensor& z);
// z / abs(z), or 0 where z is.
ComplexTensor sgn(const ComplexTensor& z);
// The numbers of these magnitudes and angles.
ComplexTensor polar(const Tensor& magnitude, const Tensor& angle);

// bool: whether either part is NaN or infinite, both are finite, the imaginary part is 0, both are.
Tensor isnan(const ComplexTensor& z);
Tensor isinf(const ComplexTensor& z);
Tensor isfinite(const ComplexTensor& z);
Tensor isreal(const ComplexTensor& z);
Tensor logical_not(const ComplexTensor& z);
// bool: abs(a - b) <= atol + rtol abs(b), or both are equal.
Tensor isclose(const ComplexTensor& a, const ComplexTensor& b, const CloseOptions& options = {});

}  // namespace tilewright
