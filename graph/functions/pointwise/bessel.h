// Functions of Bessel and Airy, element by element, under PyTorch's names (i0 is in special.h).
//
// Computed in f64 whatever the operand is, and rounded once; integers and bool are taken as f32.
// The error before that is within 1e-14 of the function's size, which near a zero is that of the
// function around it, and of arguments beyond 1000 grows with these. Safe to call from several
// threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor bessel_j0(const TensorOperand& x);
Tensor bessel_j1(const TensorOperand& x);
// Functions of the second kind: -inf at 0, NaN below.
Tensor bessel_y0(const TensorOperand& x);
Tensor bessel_y1(const TensorOperand& x);
// sin(x) / x.
Tensor spherical_bessel_j0(const TensorOperand& x);

// Modified ones of the first kind; e: times exp(-|x|).
Tensor i1(const TensorOperand& x);
Tensor i0e(const TensorOperand& x);
Tensor i1e(const TensorOperand& x);
// Functions of the second kind: inf at 0, NaN below; scaled: times exp(x).
Tensor modified_bessel_k0(const TensorOperand& x);
Tensor modified_bessel_k1(const TensorOperand& x);
Tensor scaled_modified_bessel_k0(const TensorOperand& x);
Tensor scaled_modified_bessel_k1(const TensorOperand& x);

Tensor airy_ai(const TensorOperand& x);

}  // namespace tilewright
