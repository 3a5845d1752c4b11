// Formulas of the hyperbolic functions, their inverses and the length of a vector, in the terms
// that dsl/math/angles.h explains: within 8 units in the last place.
#pragma once

#include <limits>
#include <numbers>

#include "runtime/base/dtype.h"

namespace tilewright::dsl::formulas {

// By exp(|x|) - 1, and beyond by the exponential of half, whose square may be infinite first.
template <typename T>
T sinh(const T& x) {
  T a = abs(x), e = expm1(a), half = exp(a * 0.5);
  T magnitude = choice(a < 22, 0.5 * (e + e / (e + 1)), half * 0.5 * half);
  return choice(x == 0, x, negated_where(x < 0, magnitude));
}

template <typename T>
T cosh(const T& x) {
  T a = abs(x), e = exp(a), half = exp(a * 0.5);
  return choice(a < 22, 0.5 * e + 0.5 / e, half * 0.5 * half);
}

// Where 1 is lost in the square of x.
inline double lost_from(DType dtype) { return dtype == DType::f64 ? 0x1p28 : 0x1p14; }

template <typename T>
T asinh(const T& x) {
  T a = abs(x), z = a * a;
  T near = log1p(a + z / (1 + sqrt(z + 1))), far = log(a) + std::numbers::ln2;
  T magnitude = choice(a < lost_from(x.dtype()), near, far);
  return choice(x == 0, x, negated_where(x < 0, magnitude));
}

template <typename T>
T acosh(const T& x) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  T more = x - 1;
  T near = log1p(more + sqrt(2 * more + more * more)), far = log(x) + std::numbers::ln2;
  return choice(x < 1, none, choice(x < lost_from(x.dtype()), near, far));
}

template <typename T>
T atanh(const T& x) {
  T a = abs(x), magnitude = 0.5 * log1p(2 * a / (1 - a));
  return choice(x == 0, x, negated_where(x < 0, magnitude));
}

// sqrt(a^2 + b^2) without an overflow on the way; infinite where either is.
template <typename T>
T hypot(const T& a, const T& b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  T x = abs(a), y = abs(b);
  T most = greater(x, y), ratio = lesser(x, y) / most;
  T length = choice(most == 0, most, most * sqrt(ratio * ratio + 1));
  return choice((x == infinity) | (y == infinity), infinity, length);
}

}  // namespace tilewright::dsl::formulas
