// Powers, logarithms, angles and hyperbolic functions, element by element, under PyTorch's names
// and with its meaning at zeros, infinities and NaN.
//
// Operands broadcast and promote as in tensor.h; integers and bool are taken as f32 by all but
// `pow`. Results in f32 and f64 are within 8 units in the last place (`pow` of f64 excepted), those
// of 16 bits are rounded once from f32. All are safe to call from several threads.
#pragma once

#include <optional>
#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

// base^exponent, of either an element or a number, as C's pow: 1 where the exponent is 0 or the
// base 1, NaN of finite bases below 0 where the exponent is not whole. A number 0.5 or -0.5 as the
// exponent is a square root, that of a -infinity NaN. Integers stay integers, exact modulo their
// width; with an exponent below 0 they are 0, but for bases 1 and -1, and a number below 0 is an
// Error, as is bool to the power of bool. In f32 within a unit in the last place; in f64 the
// relative error grows with the logarithm of the result, to 2^-42 where that is largest.
Tensor pow(const TensorOperand& base, const TensorOperand& exponent);
// pow in the dtype of the base, as ONNX's Pow has it: floats of two dtypes are computed in f32, or
// f64 where either is. Integers to floats are computed in f64 and cut off; with whole exponents
// they are exact where i64 holds the result.
Tensor pow_in_base_dtype(const TensorOperand& base, const TensorOperand& exponent);
// pow in f64, of all dtypes.
Tensor float_power(const TensorOperand& base, const TensorOperand& exponent);
// x 2^exponent, rounded once, also where the power alone is beyond the range of the dtype.
Tensor ldexp(const TensorOperand& x, const TensorOperand& exponent);
// {m, e}, the latter i32: x is m 2^e with |m| from 0.5 to 1; 0 and what is not finite as they are,
// with e = 0. Floats.
std::pair<Tensor, Tensor> frexp(const TensorOperand& x);

Tensor tan(const TensorOperand& x);
Tensor asin(const TensorOperand& x);
Tensor acos(const TensorOperand& x);
Tensor atan(const TensorOperand& x);
// The angle of the point (x, y) from the first axis, in [-pi, pi]; also `arctan2`.
Tensor atan2(const TensorOperand& y, const TensorOperand& x);
// That of a real number: 0, or pi where it is negative; a NaN stays.
Tensor angle(const TensorOperand& x);
Tensor sinh(const TensorOperand& x);
Tensor cosh(const TensorOperand& x);
Tensor asinh(const TensorOperand& x);
Tensor acosh(const TensorOperand& x);
Tensor atanh(const TensorOperand& x);
Tensor deg2rad(const TensorOperand& x);
Tensor rad2deg(const TensorOperand& x);
// sin(pi x) / (pi x), and 1 at 0. Its error is that of pi x times the slope, as in PyTorch.
Tensor sinc(const TensorOperand& x);

Tensor log10(const TensorOperand& x);
// sqrt(a^2 + b^2), without an overflow on the way; infinite where either is, even beside a NaN.
Tensor hypot(const TensorOperand& a, const TensorOperand& b);
// log(exp(a) + exp(b)) and the same to base 2.
Tensor logaddexp(const TensorOperand& a, const TensorOperand& b);
Tensor logaddexp2(const TensorOperand& a, const TensorOperand& b);
// x log(y), and 0 where x is 0, unless y is NaN.
Tensor xlogy(const TensorOperand& x, const TensorOperand& y);
// log(x / (1 - x)); of x clamped to [eps, 1 - eps] where an eps is given.
Tensor logit(const TensorOperand& x, std::optional<double> eps = {});

}  // namespace tilewright
