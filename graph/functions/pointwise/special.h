// Functions of the error integral and of Bessel, element by element, under PyTorch's names.
//
// Apart from elementary.h for their tables of coefficients. Integers and bool are taken as f32.
// Results in f32 are within 8 units in the last place (i0: 16), f64 within 32; those of 16 bits are
// rounded once from f32. Safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// 1 - erf(x), with all digits where that is small.
Tensor erfc(const TensorOperand& x);
// The number whose erf is x: infinite at 1 and -1, NaN beyond.
Tensor erfinv(const TensorOperand& x);
// The modified Bessel function of the first kind of order 0.
Tensor i0(const TensorOperand& x);

}  // namespace tilewright
