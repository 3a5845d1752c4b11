// The gamma function's logarithm and its derivatives, element by element, under PyTorch's names.
//
// Computed in f64 whatever the operand is, and rounded once; integers and bool are taken as f32.
// So results of f32 are within an ulp or two, and those of f64 within 1e-13 of the greatest term
// that they are a sum of. Safe to call from several threads.
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

// log |gamma(x)|: infinite at 0, -1, -2, ..
Tensor lgamma(const TensorOperand& x);
// Its derivative: infinite at 0, NaN at -1, -2, ..
Tensor digamma(const TensorOperand& x);
// Its derivative of order n + 1. Raises `Error` where n is negative or more than 150.
Tensor polygamma(std::int64_t n, const TensorOperand& x);
// The sum of (q + k)^-s for k = 0, 1, ..: NaN where s is less than 1, or where q is negative and s
// no integer; infinite where s is 1, or q is 0, -1, -2, ..
Tensor hurwitz_zeta(const TensorOperand& s, const TensorOperand& q);

// The logarithm of the multivariate gamma function: of the product of gamma functions of x, x -
// 1/2,
// .., x - (p - 1) / 2, and a power of pi. Raises `Error` unless p is from 1 to 1000.
Tensor mvlgamma(const TensorOperand& x, std::int64_t p);

}  // namespace tilewright
