#include "models/exported/complex/arithmetic.h"

#include <cmath>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "models/exported/complex/functions.h"

namespace tilewright::exported {
namespace {

constexpr double greatest_repeated_power = 16;

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }

// The number, where the operand is one that is real.
std::optional<double> real_number(const ComplexOperand& operand) {
  if (!operand.real.is_number || operand.imaginary) return std::nullopt;
  return operand.real.number.as_double();
}

// Brings numbers and real tensors to complex tensors, in the dtype that the tensors of both have.
ComplexTensor whole(const ComplexOperand& operand, DType dtype) {
  const Tensor real = tensor_of(operand.real, dtype);
  return {real, operand.imaginary ? tensor_of(*operand.imaginary, dtype) : zeros_like(real)};
}
DType dtype_of(const ComplexOperand& a, const ComplexOperand& b) {
  if (a.real.is_number) return b.real.is_number ? f32 : b.real.tensor.dtype();
  return b.real.is_number ? a.real.tensor.dtype()
                          : promote(a.real.tensor.dtype(), b.real.tensor.dtype());
}

ComplexTensor repeated_product(const ComplexTensor& z, std::int64_t times) {
  if (times == 1) return z;
  const ComplexTensor half = repeated_product(z, times / 2), square = product(half, half);
  return times % 2 == 0 ? square : product(square, z);
}

}  // namespace

ComplexTensor product(const ComplexOperand& a, const ComplexOperand& b) {
  if (!b.imaginary && !a.imaginary) {
    const Tensor real = a.real * b.real;
    return {real, zeros_like(real)};
  }
  if (!b.imaginary) return {a.real * b.real, *a.imaginary * b.real};
  if (!a.imaginary) return {a.real * b.real, a.real * *b.imaginary};
  return {a.real * b.real - *a.imaginary * *b.imaginary,
          a.real * *b.imaginary + *a.imaginary * b.real};
}

// By the quotient of the divisor's parts, the lesser over the greater (R. Smith, Algorithm 116,
// 1962). Division by 0 gives the same as for real numbers.
ComplexTensor quotient(const ComplexOperand& a, const ComplexOperand& b) {
  const DType dtype = dtype_of(a, b);
  if (!b.imaginary) {
    const ComplexTensor x = whole(a, dtype);
    return {x.real() / b.real, x.imaginary() / b.real};
  }
  const ComplexTensor x = whole(a, dtype), y = whole(b, dtype);
  const Tensor &c = y.real(), &d = y.imaginary();
  const Tensor is_real_greater = abs(c) >= abs(d);
  const Tensor is_zero = logical_and(c == 0.0, d == 0.0);
  const Tensor greater = where(is_real_greater, c, d), lesser = where(is_real_greater, d, c);
  const Tensor ratio = lesser / greater, norm = greater + lesser * ratio;
  const Tensor first = where(is_real_greater, x.real(), x.imaginary());
  const Tensor second = where(is_real_greater, x.imaginary(), x.real());
  const Tensor difference = where(is_real_greater, second - first * ratio, first * ratio - second);
  return {where(is_zero, x.real() / abs(c), (first + second * ratio) / norm),
          where(is_zero, x.imaginary() / abs(d), difference / norm)};
}

ComplexTensor power(const ComplexOperand& base, const ComplexOperand& exponent) {
  const DType dtype = dtype_of(base, exponent);
  const ComplexTensor z = whole(base, dtype);
  if (const auto number = real_number(exponent)) {
    if (*number == 0) return {ones(z.shape(), z.real().dtype()), zeros_like(z.real())};
    if (*number == 0.5) return square_root(z);
    if (*number == std::floor(*number) && std::abs(*number) <= greatest_repeated_power) {
      const ComplexTensor of_positive =
          repeated_product(z, static_cast<std::int64_t>(std::abs(*number)));
      return *number < 0 ? reciprocal(of_positive) : of_positive;
    }
  }
  if (!exponent.imaginary) return polar(pow(magnitude(z), exponent.real), angle(z) * exponent.real);
  const Tensor is_zero = magnitude(z) == 0.0;
  const ComplexTensor y = exponential(product(logarithm(z), exponent));
  return {where(is_zero, 0.0, y.real()), where(is_zero, 0.0, y.imaginary())};
}

Tensor is_equal(const ComplexOperand& a, const ComplexOperand& b) {
  const DType dtype = dtype_of(a, b);
  const ComplexTensor x = whole(a, dtype), y = whole(b, dtype);
  return logical_and(x.real() == y.real(), x.imaginary() == y.imaginary());
}

Tensor magnitude(const ComplexTensor& z) { return hypot(z.real(), z.imaginary()); }
Tensor angle(const ComplexTensor& z) { return atan2(z.imaginary(), z.real()); }
ComplexTensor polar(const Tensor& magnitude, const Tensor& angle) {
  return {magnitude * cos(angle), magnitude * sin(angle)};
}
ComplexTensor conjugate(const ComplexTensor& z) { return {z.real(), -z.imaginary()}; }
ComplexTensor negative(const ComplexTensor& z) { return {-z.real(), -z.imaginary()}; }
ComplexTensor reciprocal(const ComplexTensor& z) {
  return quotient(ComplexOperand(TensorOperand(1.0)), z);
}
ComplexTensor direction(const ComplexTensor& z) {
  const Tensor size = magnitude(z), is_zero = size == 0.0;
  return {where(is_zero, 0.0, z.real() / size), where(is_zero, 0.0, z.imaginary() / size)};
}
ComplexTensor product_over(const ComplexTensor& z, int axis, bool keeps_axis) {
  auto part = [&](const ComplexTensor& x, std::int64_t start, std::int64_t end) {
    return ComplexTensor(x.real().slice(axis, start, end), x.imaginary().slice(axis, start, end));
  };
  if (axis < 0) axis += z.rank();
  ComplexTensor left = z;
  std::int64_t count = z.real().size(axis);
  if (count == 0) {
    Shape one = z.shape();
    one[axis] = 1;
    left = {ones(one, z.real().dtype()), zeros(one, z.real().dtype())};
  }
  for (; count > 1; count = (count + 1) / 2) {
    const std::int64_t half = count / 2;
    const ComplexTensor halves = product(part(left, 0, half), part(left, half, 2 * half));
    if (count % 2 == 0) {
      left = halves;
      continue;
    }
    const ComplexTensor last = part(left, count - 1, count);
    left = {cat({halves.real(), last.real()}, axis),
            cat({halves.imaginary(), last.imaginary()}, axis)};
  }
  if (keeps_axis) return left;
  return {left.real().squeeze(axis), left.imaginary().squeeze(axis)};
}

// After k steps each element is the product of 2^k.
ComplexTensor cumulative_product(const ComplexTensor& z, int axis) {
  if (z.rank() == 0) return z;
  if (axis < 0) axis += z.rank();
  const std::int64_t count = z.shape()[axis];
  ComplexTensor all = z;
  for (std::int64_t step = 1; step < count; step *= 2) {
    auto part = [&](std::int64_t start, std::int64_t end) {
      return ComplexTensor(all.real().slice(axis, start, end),
                           all.imaginary().slice(axis, start, end));
    };
    const ComplexTensor done = part(0, step);
    const ComplexTensor more = product(part(step, count), part(0, count - step));
    all = {cat({done.real(), more.real()}, axis), cat({done.imaginary(), more.imaginary()}, axis)};
  }
  return all;
}

}  // namespace tilewright::exported
