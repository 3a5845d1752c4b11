// Formulas of the functions between angles and their sines, cosines and tangents.
//
// Templates, since they are written for words of kernels (language/words/) and for functions on
// tensors (graph/functions) alike. `T` is what such a room writes formulas in: terms of one shape
// and of one dtype, f32 or f64, with operators that take numbers too, `number`, `dtype`, and
// functions that are found by it (abs, sqrt, choice, polynomial with the lowest coefficient first,
// greater, lesser, is_negative, negated_where). So one text has one accuracy everywhere: 8 units in
// the last place at most.
#pragma once

#include <limits>
#include <numbers>

#include "runtime/base/dtype.h"

namespace tilewright::dsl::formulas {

// Half of pi as a number of the dtype, and its error.
struct HalfPi {
  double high, low;
  explicit HalfPi(DType dtype)
      : high(rounded_to(dtype, std::numbers::pi / 2)),
        low(std::numbers::pi / 2 - high + 6.123233995736766e-17) {}
};

// For x that is not negative: x, its distance from 1 or its inverse is within 0.66, where Cephes'
// quotient of polynomials holds.
template <typename T>
T angle_of(const T& x) {
  HalfPi half_pi(x.dtype());
  T is_large = x > 2.414213562373095, is_middle = (x > 0.66) & !is_large;
  T t = choice(is_large, -1 / x, choice(is_middle, (x - 1) / (x + 1), x));
  T z = t * t;
  T p = polynomial(
      z, {-6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
          -1.615753718733365076637e1, -8.750608600031904122785e-1});
  T q = polynomial(z,
                   {1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
                    1.650270098316988542046e2, 2.485846490142306297962e1, 1});
  T turned = t + t * (z * p / q);
  auto begun = [&](double part) {
    return choice(is_large, x.number(part), choice(is_middle, x.number(part / 2), 0));
  };
  return begun(half_pi.high) + (turned + begun(half_pi.low));
}

// asin(x) / x - 1 in terms of x^2 up to 1/4, FreeBSD's quotient of polynomials.
template <typename T>
T arc_curvature(const T& z) {
  T p = polynomial(
      z, {1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
          -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05});
  T q = polynomial(z, {1, -2.40339491173441421878e+00, 2.02094576023350569471e+00,
                       -6.88283971605453293030e-01, 7.70381505559019352791e-02});
  return z * p / q;
}

// The angle whose cosine is a, for a between 1/2 and 1: twice that whose sine is sqrt((1 - a) / 2).
template <typename T>
T angle_of_cosine(const T& a) {
  T z = (1 - a) * 0.5, s = sqrt(z);
  return 2 * (s + s * arc_curvature(z));
}

template <typename T>
T asin(const T& x) {
  T a = abs(x);
  HalfPi half_pi(x.dtype());
  T far = half_pi.high - (angle_of_cosine(a) - half_pi.low);
  return choice(a < 0.5, x + x * arc_curvature(x * x), negated_where(x < 0, far));
}

template <typename T>
T acos(const T& x) {
  HalfPi half_pi(x.dtype());
  T near = half_pi.high - (x - (half_pi.low - x * arc_curvature(x * x)));
  T far = angle_of_cosine(abs(x));
  T obtuse = 2 * half_pi.high - (far - 2 * half_pi.low);
  return choice(abs(x) < 0.5, near, choice(x < 0, obtuse, far));
}

// A -0 stays one.
template <typename T>
T atan(const T& x) {
  return choice(x == 0, x, negated_where(x < 0, angle_of(abs(x))));
}

template <typename T>
T atan2(const T& rise, const T& run) {
  HalfPi half_pi(rise.dtype());
  T a = abs(rise), b = abs(run);
  T most = greater(a, b), least = lesser(a, b);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  T ratio = choice(least == infinity, 1, choice(most == 0, most, least / most));
  T angle = angle_of(ratio);
  angle = choice(a > b, half_pi.high - (angle - half_pi.low), angle);
  angle = choice(is_negative(run), 2 * half_pi.high - (angle - 2 * half_pi.low), angle);
  return negated_where(is_negative(rise), angle);
}

}  // namespace tilewright::dsl::formulas
