#include "graph/functions/complex/arithmetic.h"

#include <cmath>

#include "graph/functions/complex/elementary.h"
#include "graph/functions/creation.h"
#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

using graph::complex_product;
using graph::complex_quotient;
using graph::tensor_beside;

namespace {

constexpr double greatest_repeated_power = 16;

DType dtype_of_both(const ComplexOperand& a, const ComplexOperand& b) {
  if (a.real.is_number) return b.real.is_number ? f32 : b.real.tensor.dtype();
  return b.real.is_number ? a.real.tensor.dtype()
                          : promote(a.real.tensor.dtype(), b.real.tensor.dtype());
}
ComplexTensor complex_beside(const ComplexOperand& operand, DType dtype) {
  const Tensor real = tensor_beside(operand.real, dtype);
  return {real, operand.imaginary ? tensor_beside(*operand.imaginary, dtype) : zeros_like(real)};
}

// The number, where the operand is one that is real.
std::optional<double> real_number(const ComplexOperand& operand) {
  if (!operand.real.is_number || operand.imaginary) return std::nullopt;
  return operand.real.number.as_double();
}

ComplexTensor repeated_product(const ComplexTensor& z, std::int64_t times) {
  if (times == 1) return z;
  const ComplexTensor half = repeated_product(z, times / 2), whole = half * half;
  return times % 2 == 0 ? whole : whole * z;
}

}  // namespace

ComplexTensor graph::complex_sum(const ComplexOperand& a, const ComplexOperand& b) {
  const Tensor real = a.real + b.real;
  if (a.imaginary && b.imaginary) return {real, *a.imaginary + *b.imaginary};
  if (!a.imaginary && !b.imaginary) return ComplexTensor(real);
  return {real, tensor_beside(a.imaginary ? *a.imaginary : *b.imaginary, real.dtype())};
}

ComplexTensor graph::complex_difference(const ComplexOperand& a, const ComplexOperand& b) {
  const Tensor real = a.real - b.real;
  if (a.imaginary && b.imaginary) return {real, *a.imaginary - *b.imaginary};
  if (!a.imaginary && !b.imaginary) return ComplexTensor(real);
  return {real, a.imaginary ? tensor_beside(*a.imaginary, real.dtype())
                            : -tensor_beside(*b.imaginary, real.dtype())};
}

ComplexTensor graph::complex_product(const ComplexOperand& a, const ComplexOperand& b) {
  if (!b.imaginary && !a.imaginary) return ComplexTensor(a.real * b.real);
  if (!b.imaginary) return {a.real * b.real, *a.imaginary * b.real};
  if (!a.imaginary) return {a.real * b.real, a.real * *b.imaginary};
  return {a.real * b.real - *a.imaginary * *b.imaginary,
          a.real * *b.imaginary + *a.imaginary * b.real};
}

// By the quotient of the divisor's parts, the lesser over the greater (R. Smith, Algorithm 116,
// 1962).
ComplexTensor graph::complex_quotient(const ComplexOperand& a, const ComplexOperand& b) {
  const DType dtype = dtype_of_both(a, b);
  if (!b.imaginary) {
    if (!a.imaginary) return ComplexTensor(a.real / b.real);
    return {a.real / b.real, *a.imaginary / b.real};
  }
  const ComplexTensor x = complex_beside(a, dtype), y = complex_beside(b, dtype);
  const Tensor c = y.real(), d = y.imag();
  const Tensor is_real_greater = abs(c) >= abs(d);
  const Tensor is_zero = logical_and(c == 0.0, d == 0.0);
  const Tensor greater = where(is_real_greater, c, d), lesser = where(is_real_greater, d, c);
  const Tensor ratio = lesser / greater, norm = greater + lesser * ratio;
  const Tensor first = where(is_real_greater, x.real(), x.imag());
  const Tensor second = where(is_real_greater, x.imag(), x.real());
  const Tensor difference = where(is_real_greater, second - first * ratio, first * ratio - second);
  return {where(is_zero, x.real() / abs(c), (first + second * ratio) / norm),
          where(is_zero, x.imag() / abs(d), difference / norm)};
}

ComplexTensor graph::complex_power(const ComplexOperand& base, const ComplexOperand& exponent) {
  const ComplexTensor z = complex_beside(base, dtype_of_both(base, exponent));
  if (const auto number = real_number(exponent)) {
    if (*number == 0) return {ones_like(z.real()), zeros_like(z.real())};
    if (*number == 0.5) return sqrt(z);
    if (*number == std::floor(*number) && std::abs(*number) <= greatest_repeated_power) {
      const ComplexTensor positive =
          repeated_product(z, static_cast<std::int64_t>(std::abs(*number)));
      return *number < 0 ? reciprocal(positive) : positive;
    }
  }
  if (!exponent.imaginary) return polar(pow(abs(z), exponent.real), angle(z) * exponent.real);
  const Tensor is_zero = abs(z) == 0.0;
  const ComplexTensor y = exp(complex_product(log(z), exponent));
  return {where(is_zero, 0.0, y.real()), where(is_zero, 0.0, y.imag())};
}

Tensor graph::complex_equal(const ComplexOperand& a, const ComplexOperand& b) {
  const DType dtype = dtype_of_both(a, b);
  const ComplexTensor x = complex_beside(a, dtype), y = complex_beside(b, dtype);
  return logical_and(x.real() == y.real(), x.imag() == y.imag());
}

ComplexTensor operator-(const ComplexTensor& z) {
  return map_parts(z, [](const Tensor& x) { return -x; });
}
ComplexTensor conj(const ComplexTensor& z) {
  return z.is_real() ? z : ComplexTensor(z.real(), -z.imag());
}
ComplexTensor reciprocal(const ComplexTensor& z) { return 1.0 / z; }
ComplexTensor square(const ComplexTensor& z) { return z * z; }
ComplexTensor lerp(const ComplexTensor& start, const ComplexTensor& end,
                   const ComplexOperand& weight) {
  return start + (end - start) * weight;
}
ComplexTensor addcmul(const ComplexTensor& z, const ComplexOperand& a, const ComplexOperand& b,
                      const ComplexOperand& value) {
  const ComplexTensor product = complex_product(a, b);
  return z + (real_number(value) == 1.0 ? product : product * value);
}
ComplexTensor addcdiv(const ComplexTensor& z, const ComplexOperand& a, const ComplexOperand& b,
                      const ComplexOperand& value) {
  const ComplexTensor quotient = complex_quotient(a, b);
  return z + (real_number(value) == 1.0 ? quotient : quotient * value);
}

Tensor abs(const ComplexTensor& z) {
  return z.is_real() ? abs(z.real()) : hypot(z.real(), z.imag());
}
Tensor angle(const ComplexTensor& z) { return atan2(z.imag(), z.real()); }
ComplexTensor sgn(const ComplexTensor& z) {
  const Tensor size = abs(z), is_zero = size == 0.0;
  return map_parts(z, [&](const Tensor& x) { return where(is_zero, 0.0, x / size); });
}
ComplexTensor polar(const Tensor& magnitude, const Tensor& angle) {
  return {magnitude * cos(angle), magnitude * sin(angle)};
}

Tensor isnan(const ComplexTensor& z) { return logical_or(isnan(z.real()), isnan(z.imag())); }
Tensor isinf(const ComplexTensor& z) { return logical_or(isinf(z.real()), isinf(z.imag())); }
Tensor isfinite(const ComplexTensor& z) {
  return logical_and(isfinite(z.real()), isfinite(z.imag()));
}
Tensor isreal(const ComplexTensor& z) { return z.imag() == 0.0; }
Tensor logical_not(const ComplexTensor& z) { return logical_and(z.real() == 0.0, z.imag() == 0.0); }
Tensor isclose(const ComplexTensor& a, const ComplexTensor& b, const CloseOptions& options) {
  const Tensor distance = abs(a - b), allowed = options.rtol * abs(b) + options.atol;
  const Tensor is_near = logical_and(isfinite(distance), distance <= allowed);
  const Tensor close = logical_or(a == b, is_near);
  return options.equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
}

}  // namespace tilewright
