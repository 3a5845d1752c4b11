// The formula of the gamma function's logarithm, in the terms that dsl/math/angles.h explains, of
// f64: within 1e-13 of the greatest term that it is a sum of.
#pragma once

#include <limits>
#include <numbers>

#include "dsl/math/half_turns.h"

namespace tilewright::dsl::formulas {

// For z from 0.5 on gamma(z) is (z + 6.5)^(z - 0.5) e^-(z + 6.5) times Lanczos' sum (C. Lanczos: A
// precision approximation of the gamma function, 1964), with P. Godfrey's coefficients for g = 7,
// within 1e-15. Its terms are combined to one quotient of polynomials, the upper one times sqrt(2
// pi). Below 0.5 gamma(x) is pi / sin(pi x) / gamma(1 - x): the quotient is turned over, so that
// one logarithm serves both. It is infinite at 0, -1, -2, ..
template <typename T>
T log_gamma(const T& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), pi = std::numbers::pi;
  T is_low = x < 0.5, z = choice(is_low, 1 - x, x), t = z + 6.5;
  T power = (z - 0.5) * log(t) - t;
  // From far below this number on the sum is a constant; its powers must not overflow.
  T bounded = lesser(z, z.number(1e30));
  T over = polynomial(bounded, {8546756.8188143745, 10433559.178127712, 5571934.9106263816,
                                1700220.1441767719, 324225.49547412182, 39566.827664428136,
                                3017.5648471686109, 131.49354157337686, 2.5066282746305242});
  T under = bounded * polynomial(bounded, {5040, 13068, 13132, 6769, 1960, 322, 28, 1});
  T sine = abs(sine_of_half_turns(x - round(x)));
  T quotient = choice(is_low, under * pi, over) / choice(is_low, over * sine, under);
  // So near 0 it is -log |x|, and pi x may have lost digits.
  T a = abs(x), is_tiny = a < 0x1p-60, part = log(choice(is_tiny, a, quotient));
  T value = choice(is_tiny, -part, choice(is_low, part - power, part + power));
  return choice((a == infinity) | (is_low & (sine == 0)), infinity, value);
}

}  // namespace tilewright::dsl::formulas
