// Elementary functions of one complex operand, in functions of real tensors.
//
// Apart from arithmetic.h, because each is a formula with a history: at branch cuts, for
// infinities, NaN and signed zeros they give what C's functions of complex numbers do (ISO C, annex
// G), as PyTorch's do, but for the signs of parts that C leaves open. For numbers, the results are
// within a few units in the last place of the greater part, unless the function has a zero nearby.
#pragma once

#include "models/exported/complex/complex_tensor.h"

namespace tilewright::exported {

// f(i z) / i, for a function of which that is f of another: sine of the hyperbolic sine, and so on.
template <typename F>
ComplexTensor turned(const ComplexTensor& z, const F& function) {
  const ComplexTensor y = function(ComplexTensor{-z.imaginary(), z.real()});
  return {y.imaginary(), -y.real()};
}

inline bool is_wide(const Tensor& x) { return x.dtype() == f64; }

ComplexTensor exponential(const ComplexTensor& z);
ComplexTensor exponential_less_one(const ComplexTensor& z);
ComplexTensor logarithm(const ComplexTensor& z);
ComplexTensor logarithm_of_one_plus(const ComplexTensor& z);
ComplexTensor square_root(const ComplexTensor& z);
ComplexTensor sine(const ComplexTensor& z);
ComplexTensor cosine(const ComplexTensor& z);
ComplexTensor tangent(const ComplexTensor& z);
ComplexTensor hyperbolic_sine(const ComplexTensor& z);
ComplexTensor hyperbolic_cosine(const ComplexTensor& z);
ComplexTensor hyperbolic_tangent(const ComplexTensor& z);
ComplexTensor sigmoid(const ComplexTensor& z);

ComplexTensor inverse_sine(const ComplexTensor& z);
ComplexTensor inverse_cosine(const ComplexTensor& z);
ComplexTensor inverse_tangent(const ComplexTensor& z);
ComplexTensor inverse_hyperbolic_sine(const ComplexTensor& z);
ComplexTensor inverse_hyperbolic_cosine(const ComplexTensor& z);
ComplexTensor inverse_hyperbolic_tangent(const ComplexTensor& z);

}  // namespace tilewright::exported
