// Functions of the error integral and of Bessel, element by element, under PyTorch's names.
//
// Apart from elementary.h for their tables of coefficients. Integers and bool are taken as f32.
// Results in f32 are within 8 units in the last place (i0: 16), f64 within 32; those of 16 bits are
// rounded once from f32. erfcx, ndtr, log_ndtr and ndtri are computed in f64 whatever the operand
// is, and rounded once; of f64 they are within 1e-13. Safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// 1 - erf(x), with all digits where that is small.
Tensor erfc(const TensorOperand& x);
// The number whose erf is x: infinite at 1 and -1, NaN beyond.
Tensor erfinv(const TensorOperand& x);
// exp(x^2) erfc(x).
Tensor erfcx(const TensorOperand& x);
// The integral of the normal density up to x, and its logarithm.
Tensor ndtr(const TensorOperand& x);
Tensor log_ndtr(const TensorOperand& x);
// Up to where that integral is p: infinite at 0 and 1, NaN outside.
Tensor ndtri(const TensorOperand& p);
// The modified Bessel function of the first kind of order 0.
Tensor i0(const TensorOperand& x);

// -x log(x), 0 at 0 and -infinity below.
Tensor entr(const TensorOperand& x);
// x log(1 + y), and 0 where x is 0, unless y is NaN. Of tensors and numbers, not of two numbers.
Tensor xlog1py(const TensorOperand& x, const TensorOperand& y);

}  // namespace tilewright
