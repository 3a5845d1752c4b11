// Inverse sines, cosines and tangents (elementary.h).
#include <cmath>
#include <numbers>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/elementary.h"
#include "graph/functions/complex/one_slope.h"
#include "graph/functions/complex/quarter_turn.h"
#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

using graph::by_quarter_turn;
using graph::with_one_slope;

namespace {

// Beyond it squares overflow, and 1 beside it is nothing.
double far_from(const Tensor& x) { return x.dtype() == f64 ? 1e150 : 1e15; }

// The real parts of asin and acos, and what the imaginary parts are but for their signs, of a
// number whose parts are not negative (T. Hull, T. Fairgrieve, P. Tang, Implementing the complex
// arcsine and arccosine functions using exception handling, 1997).
struct Arcs {
  Arcs(const Tensor& x, const Tensor& y) {
    constexpr double crossover = 0.6417, near_one = 1.5;
    const Tensor right = x + 1.0, left = x - 1.0;
    const Tensor r = hypot(right, y), s = hypot(left, y);
    const Tensor a = 0.5 * (r + s), b = x / a, sum = a + x;
    const Tensor is_inside = x <= 1.0;
    // Each of y^2 / (r + x + 1) and s + 1 - x without a difference of nearly equal numbers.
    const Tensor first = y * (y / (r + right));
    const Tensor inside = sqrt(0.5 * sum * (first + (s - left)));
    const Tensor outside = y * sqrt(0.5 * (sum / (r + right) + sum / (s + left)));
    const Tensor root = where(is_inside, inside, outside), is_close = b > crossover;
    const Tensor second = where(x < 1.0, y * (y / (s - left)), s + left);
    const Tensor excess = 0.5 * (first + second);
    const Tensor bounded =
        where(a <= near_one, log1p(excess + sqrt(excess * (a + 1.0))), log(a + sqrt(a * a - 1.0)));
    const double most = far_from(x);
    const Tensor is_far = logical_or(x > most, y > most);
    sine = where(is_far, atan2(x, y), where(is_close, atan2(x, root), asin(b)));
    sine = where(x == 0.0, x, sine);
    cosine = where(is_far, atan2(y, x), where(is_close, atan2(root, x), acos(b)));
    cosine = where(x == 0.0, std::numbers::pi / 2, cosine);
    imaginary = where(is_far, log(hypot(x * 0.5, y * 0.5)) + 2 * std::numbers::ln2, bounded);
    imaginary = where(logical_and(y == 0.0, is_inside), y, imaginary);
  }
  Tensor sine, cosine, imaginary;
};

}  // namespace

// A small number is its own sine.
static ComplexTensor asin_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const Arcs arcs(abs(x), abs(y));
  const Tensor is_small = abs(z) < (z.dtype() == f64 ? 0x1p-27 : 0x1p-12);
  return {where(is_small, x, copysign(arcs.sine, x)),
          where(is_small, y, copysign(arcs.imaginary, y))};
}
ComplexTensor asin(const ComplexTensor& z) { return with_one_slope("complex asin", z, asin_of); }

static ComplexTensor acos_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const Arcs arcs(abs(x), abs(y));
  return {where(signbit(x), std::numbers::pi - arcs.cosine, arcs.cosine),
          -copysign(arcs.imaginary, y)};
}
ComplexTensor acos(const ComplexTensor& z) { return with_one_slope("complex acos", z, acos_of); }

ComplexTensor asinh(const ComplexTensor& z) {
  return by_quarter_turn(z, [](const ComplexTensor& x) { return asin(x); });
}

static ComplexTensor acosh_of(const ComplexTensor& z) {
  const ComplexTensor arc = acos(z);
  return {abs(arc.imag()), copysign(arc.real(), z.imag())};
}
ComplexTensor acosh(const ComplexTensor& z) { return with_one_slope("complex acosh", z, acosh_of); }

// log1p of 4 x over the square of the distance from 1; far away 1 / z.
static ComplexTensor atanh_of(const ComplexTensor& z) {
  const Tensor a = abs(z.real()), b = abs(z.imag());
  const double most = far_from(a);
  const Tensor is_far = logical_or(a > most, b > most);
  const Tensor left = 1.0 - a;
  const Tensor near = 0.25 * log1p(4.0 * a / (left * left + b * b));
  const Tensor angle = 0.5 * atan2(2.0 * b, left * (1.0 + a) - b * b);
  const Tensor is_infinite = logical_or(isinf(a), isinf(b));
  const Tensor far = where(is_infinite, 0.0, abs(reciprocal({a, b}).real()));
  const Tensor real = where(a == 0.0, a, where(is_far, far, near));
  const Tensor turned_back = logical_and(is_far, logical_not(isnan(b)));
  return {copysign(real, z.real()),
          copysign(where(turned_back, std::numbers::pi / 2, angle), z.imag())};
}
ComplexTensor atanh(const ComplexTensor& z) { return with_one_slope("complex atanh", z, atanh_of); }

ComplexTensor atan(const ComplexTensor& z) {
  return by_quarter_turn(z, [](const ComplexTensor& x) { return atanh(x); });
}

}  // namespace tilewright
