// Orthogonal polynomials of x and a degree n, under the names of torch.special: those of Chebyshev
// of four kinds and their shifted forms (of 2 x - 1), of Hermite, Laguerre and Legendre.
//
// Either operand may be a number, the other is a tensor; they broadcast, and integers are taken as
// f32. Computed in f64 by their recurrences, in a loop of as many turns as the greatest degree, and
// rounded once (f64 where the degree is). Degrees are rounded towards 0; below 0 the result is 0,
// as PyTorch has it, and beyond 100,000 NaN. Safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor chebyshev_polynomial_t(const TensorOperand& x, const TensorOperand& n);
Tensor chebyshev_polynomial_u(const TensorOperand& x, const TensorOperand& n);
Tensor chebyshev_polynomial_v(const TensorOperand& x, const TensorOperand& n);
Tensor chebyshev_polynomial_w(const TensorOperand& x, const TensorOperand& n);
Tensor shifted_chebyshev_polynomial_t(const TensorOperand& x, const TensorOperand& n);
Tensor shifted_chebyshev_polynomial_u(const TensorOperand& x, const TensorOperand& n);
Tensor shifted_chebyshev_polynomial_v(const TensorOperand& x, const TensorOperand& n);
Tensor shifted_chebyshev_polynomial_w(const TensorOperand& x, const TensorOperand& n);
Tensor hermite_polynomial_h(const TensorOperand& x, const TensorOperand& n);
Tensor hermite_polynomial_he(const TensorOperand& x, const TensorOperand& n);
Tensor laguerre_polynomial_l(const TensorOperand& x, const TensorOperand& n);
Tensor legendre_polynomial_p(const TensorOperand& x, const TensorOperand& n);

}  // namespace tilewright
