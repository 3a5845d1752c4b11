// The formula of the gamma function's logarithm, in the terms that dsl/math/angles.h explains, of
// f64: within 1e-13 of the greatest term that it is a sum of.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace tilewright::dsl::formulas {

// For x from 0.5 on: Lanczos' sum (C. Lanczos: A precision approximation of the gamma function,
// 1964), with P. Godfrey's coefficients for g = 7, within 1e-15.
template <typename T>
T log_gamma_of_positive(const T& x) {
  constexpr double parts[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                              -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                              9.9843695780195716e-6, 1.5056327351493116e-7};
  constexpr double infinity = std::numeric_limits<double>::infinity(), pi = std::numbers::pi;
  T sum = x.number(0.99999999999980993), t = x + 6.5;
  for (int i = 0; i < 8; ++i) sum = sum + parts[i] / (x + static_cast<double>(i));
  T value = (x - 0.5) * log(t) - t + log(sum * std::sqrt(2 * pi));
  return choice(x == infinity, x, value);
}

// Infinite at 0, -1, -2, .. What x is beyond the nearest integer makes sin(pi x) exact near these.
template <typename T>
T log_gamma(const T& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), pi = std::numbers::pi;
  T is_low = x < 0.5, z = choice(is_low, 1 - x, x);
  T value = log_gamma_of_positive(z);
  T sine = abs(sin((x - round(x)) * pi)), mirrored = std::log(pi) - log(sine) - value;
  T below = choice((x == -infinity) | (sine == 0), infinity, mirrored);
  // So near 0 it is -log |x|, and pi x may have lost digits.
  T a = abs(x);
  return choice(a < 0x1p-60, -log(a), choice(is_low, below, value));
}

}  // namespace tilewright::dsl::formulas
