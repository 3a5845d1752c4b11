// Arithmetic, rounding, signs, tests and limits, element by element, under PyTorch's names and with
// its meaning at zeros, infinities and NaN.
//
// Operands broadcast and promote as in tensor.h. Misuse raises `Error`; all are safe to call from
// several threads. The sign of a NaN is not seen: it counts as positive.
#pragma once

#include <optional>
#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// a + alpha b, a - alpha b, b - alpha a. To integers a fraction as alpha is an Error.
Tensor add(const TensorOperand& a, const TensorOperand& b, const Number& alpha = 1);
Tensor sub(const TensorOperand& a, const TensorOperand& b, const Number& alpha = 1);
Tensor rsub(const TensorOperand& a, const TensorOperand& b, const Number& alpha = 1);
Tensor mul(const TensorOperand& a, const TensorOperand& b);
// PyTorch's names of the comparisons ==, !=, <, <=, > and >=.
Tensor eq(const TensorOperand& a, const TensorOperand& b);
Tensor ne(const TensorOperand& a, const TensorOperand& b);
Tensor lt(const TensorOperand& a, const TensorOperand& b);
Tensor le(const TensorOperand& a, const TensorOperand& b);
Tensor gt(const TensorOperand& a, const TensorOperand& b);
Tensor ge(const TensorOperand& a, const TensorOperand& b);
Tensor true_divide(const TensorOperand& a, const TensorOperand& b);
Tensor positive(const TensorOperand& x);  // x itself; an Error for bool
// The mean of tensors, element by element, in the dtype of the first; 16 bits are summed in f32.
Tensor elementwise_mean(const std::vector<Tensor>& operands,
                        std::source_location w = std::source_location::current());
// start + weight (end - start), from the nearer end. All are floating and of one dtype, but for
// numbers.
Tensor lerp(const TensorOperand& start, const TensorOperand& end, const TensorOperand& weight);
// x + value a b, and x + value a / b, which is for floats alone.
Tensor addcmul(const TensorOperand& x, const TensorOperand& a, const TensorOperand& b,
               const Number& value = 1);
Tensor addcdiv(const TensorOperand& x, const TensorOperand& a, const TensorOperand& b,
               const Number& value = 1);

// Towards 0, which integers are already.
Tensor trunc(const TensorOperand& x);
// x - trunc(x), for floats alone.
Tensor frac(const TensorOperand& x);
// To the given number of decimals, or places before the point where negative; halves to even. For
// floats, and for integers with 0 decimals.
Tensor round(const TensorOperand& x, int decimals);

// -1, 0 or 1; of bool itself, of NaN 0.
Tensor sign(const TensorOperand& x);
Tensor sgn(const TensorOperand& x);
// bool: whether x is below 0 or -0.
Tensor signbit(const TensorOperand& x);
// The magnitude of a with the sign of b, floating.
Tensor copysign(const TensorOperand& a, const TensorOperand& b);
// 0 below 0, 1 above, and the values at 0; both of one dtype.
Tensor heaviside(const TensorOperand& x, const TensorOperand& values);
// The next number from a towards b in the dtype that both are promoted to, which must be floating.
Tensor nextafter(const TensorOperand& a, const TensorOperand& b);

// bool. Integers and bool are finite.
Tensor isnan(const TensorOperand& x);
Tensor isinf(const TensorOperand& x);
Tensor isposinf(const TensorOperand& x);
Tensor isneginf(const TensorOperand& x);
Tensor isfinite(const TensorOperand& x);
struct CloseOptions {
  double rtol = 1e-5, atol = 1e-8;  // not negative
  bool equal_nan = false;
};
// True where |a - b| <= atol + rtol |b|, or both are equal; of one dtype.
Tensor isclose(const TensorOperand& a, const TensorOperand& b, const CloseOptions& options = {});
// True if that holds everywhere; if shapes and elements are equal. Both read data, so that a graph
// ends there.
bool allclose(const TensorOperand& a, const TensorOperand& b, const CloseOptions& options = {});
bool equal(const TensorOperand& a, const TensorOperand& b);

// True where an element is among those of `values`, or is not; every pair is compared.
Tensor isin(const TensorOperand& x, const TensorOperand& values, bool invert = false);

// clamp with one bound.
Tensor clamp_min(const TensorOperand& x, const TensorOperand& least);
Tensor clamp_max(const TensorOperand& x, const TensorOperand& most);
// The greater and the less, but of a number and a NaN the number.
Tensor fmax(const TensorOperand& a, const TensorOperand& b);
Tensor fmin(const TensorOperand& a, const TensorOperand& b);
// NaN and the infinities replaced by these; by default 0 and the ends of the dtype.
struct NanToNumOptions {
  double nan = 0;
  std::optional<double> posinf = {}, neginf = {};
};
Tensor nan_to_num(const TensorOperand& x, const NanToNumOptions& options = {});

// For integers, and for bool, where it is `logical_not`.
Tensor bitwise_not(const TensorOperand& x);
// For integers: PyTorch's names of shift_left and shift_right.
Tensor bitwise_left_shift(const TensorOperand& a, const TensorOperand& b);
Tensor bitwise_right_shift(const TensorOperand& a, const TensorOperand& b);
Tensor logical_xor(const TensorOperand& a, const TensorOperand& b);
// The greatest common divisor and the least common multiple, for integers; of 0 and 0 they are 0.
Tensor gcd(const TensorOperand& a, const TensorOperand& b);
Tensor lcm(const TensorOperand& a, const TensorOperand& b);

}  // namespace tilewright
