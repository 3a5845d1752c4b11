#include "models/exported/complex/arithmetic.h"

#include <cmath>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"

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

// By the greater part of the divisor first (as R. Smith, Algorithm 116, 1962).
ComplexTensor quotient(const ComplexOperand& a, const ComplexOperand& b) {
  const DType dtype = dtype_of(a, b);
  if (!b.imaginary) {
    const ComplexTensor x = whole(a, dtype);
    return {x.real() / b.real, x.imaginary() / b.real};
  }
  const ComplexTensor x = whole(a, dtype), y = whole(b, dtype);
  const Tensor scale = maximum(abs(y.real()), abs(y.imaginary()));
  const Tensor c = y.real() / scale, d = y.imaginary() / scale;
  const Tensor norm = (c * c + d * d) * scale;
  return {(x.real() * c + x.imaginary() * d) / norm, (x.imaginary() * c - x.real() * d) / norm};
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
ComplexTensor exponential(const ComplexTensor& z) { return polar(exp(z.real()), z.imaginary()); }
ComplexTensor logarithm(const ComplexTensor& z) { return {log(magnitude(z)), angle(z)}; }

// Without a difference of nearly equal numbers.
ComplexTensor square_root(const ComplexTensor& z) {
  const Tensor greater = sqrt(0.5 * (magnitude(z) + abs(z.real())));
  const Tensor is_zero = greater == 0.0;
  const Tensor lesser = where(is_zero, 0.0, abs(z.imaginary()) / (2.0 * greater));
  const Tensor is_right = z.real() >= 0.0;
  return {where(is_right, greater, lesser),
          copysign(where(is_right, lesser, greater), z.imaginary())};
}

ComplexTensor sine(const ComplexTensor& z) {
  return {sin(z.real()) * cosh(z.imaginary()), cos(z.real()) * sinh(z.imaginary())};
}
ComplexTensor cosine(const ComplexTensor& z) {
  return {cos(z.real()) * cosh(z.imaginary()), -sin(z.real()) * sinh(z.imaginary())};
}
ComplexTensor hyperbolic_sine(const ComplexTensor& z) {
  return {sinh(z.real()) * cos(z.imaginary()), cosh(z.real()) * sin(z.imaginary())};
}
ComplexTensor hyperbolic_cosine(const ComplexTensor& z) {
  return {cosh(z.real()) * cos(z.imaginary()), sinh(z.real()) * sin(z.imaginary())};
}
// In tanh of the real part and tan of the imaginary one (W. Kahan, Branch cuts for complex
// elementary functions, 1987), which does not overflow.
ComplexTensor hyperbolic_tangent(const ComplexTensor& z) {
  const Tensor t = tan(z.imaginary()), beta = 1.0 + t * t;
  const Tensor s = sinh(clamp(z.real(), -25.0, 25.0)), rho = sqrt(1.0 + s * s);
  const Tensor norm = 1.0 + beta * s * s;
  return {beta * rho * s / norm, t / norm};
}
ComplexTensor tangent(const ComplexTensor& z) {
  const ComplexTensor turned = hyperbolic_tangent({-z.imaginary(), z.real()});
  return {turned.imaginary(), -turned.real()};
}
ComplexTensor sigmoid(const ComplexTensor& z) {
  const ComplexTensor power = exponential(negative(z));
  return reciprocal({power.real() + 1.0, power.imaginary()});
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

}  // namespace tilewright::exported
