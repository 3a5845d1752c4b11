// Elementary functions of complex tensors, element by element, under PyTorch's names.
//
// Apart from arithmetic.h, because each is a formula with a history: at branch cuts, for
// infinities, NaN and signed zeros they give what C's functions of complex numbers do (ISO C, annex
// G), as PyTorch's do, but for the signs of parts that C leaves open. Results for finite numbers
// are within a few units in the last place of the greater part, unless the function has a zero
// nearby. Safe to call from several threads.
#pragma once

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright {

ComplexTensor exp(const ComplexTensor& z);
ComplexTensor exp2(const ComplexTensor& z);
ComplexTensor expm1(const ComplexTensor& z);
// The imaginary part of a logarithm is the angle, in [-pi, pi].
ComplexTensor log(const ComplexTensor& z);
ComplexTensor log1p(const ComplexTensor& z);
ComplexTensor log2(const ComplexTensor& z);
ComplexTensor log10(const ComplexTensor& z);
// The root whose real part is not negative.
ComplexTensor sqrt(const ComplexTensor& z);
ComplexTensor rsqrt(const ComplexTensor& z);
ComplexTensor sin(const ComplexTensor& z);
ComplexTensor cos(const ComplexTensor& z);
ComplexTensor tan(const ComplexTensor& z);
// sin(pi z) / (pi z), and 1 at 0.
ComplexTensor sinc(const ComplexTensor& z);
ComplexTensor sinh(const ComplexTensor& z);
ComplexTensor cosh(const ComplexTensor& z);
ComplexTensor tanh(const ComplexTensor& z);
// 1 / (1 + exp(-z)), and z times that.
ComplexTensor sigmoid(const ComplexTensor& z);
ComplexTensor silu(const ComplexTensor& z);

ComplexTensor asin(const ComplexTensor& z);
ComplexTensor acos(const ComplexTensor& z);
ComplexTensor atan(const ComplexTensor& z);
ComplexTensor asinh(const ComplexTensor& z);
ComplexTensor acosh(const ComplexTensor& z);
ComplexTensor atanh(const ComplexTensor& z);

}  // namespace tilewright
