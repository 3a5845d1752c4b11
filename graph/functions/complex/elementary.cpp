#include "graph/functions/complex/elementary.h"

#include <cmath>
#include <numbers>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/one_slope.h"
#include "graph/functions/complex/quarter_turn.h"
#include "graph/functions/creation.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/elementary.h"

namespace tilewright {

using graph::by_quarter_turn;
using graph::times_i;
using graph::with_one_slope;

namespace {

// Arguments beyond `most`, moved towards 0 by `step`, and the power of e that this leaves out, so
// that the exponential of a large number times a small one does not overflow on the way.
struct Reduced {
  explicit Reduced(const Tensor& x)
      : most(x.dtype() == f64 ? 700 : 80),
        step(x.dtype() == f64 ? 32 : 16),
        is_beyond(abs(x) > most),
        power(full({}, std::exp(step), x.dtype())) {}
  Tensor argument(const Tensor& x) const { return where(is_beyond, copysign(abs(x) - step, x), x); }
  Tensor scale() const { return where(is_beyond, power, 1.0); }
  double most, step;
  Tensor is_beyond, power;
};

}  // namespace

static ComplexTensor exp_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const Reduced reduced(x);
  // Below, exp(x) is 0 and stays so.
  const Tensor is_above = x > reduced.most;
  const Tensor power = exp(where(is_above, x - reduced.step, x));
  const Tensor scale = where(is_above, reduced.power, 1.0);
  const Tensor has_no_angle = logical_not(isfinite(y));
  const Tensor is_zero = logical_and(has_no_angle, x == -graph::infinity);
  const Tensor is_infinite = logical_and(has_no_angle, x == graph::infinity);
  const Tensor real = power * cos(y) * scale, imaginary = power * sin(y) * scale;
  return {where(is_zero, 0.0, where(is_infinite, x, real)),
          where(is_zero, 0.0, where(y == 0.0, y, imaginary))};
}
ComplexTensor exp(const ComplexTensor& z) { return with_one_slope("complex exp", z, exp_of); }

// Without a difference of nearly equal numbers: expm1(x) cos(y) - 2 sin(y / 2)^2.
static ComplexTensor expm1_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag(), half = sin(y * 0.5);
  return {expm1(x) * cos(y) - 2.0 * half * half, exp(x) * sin(y)};
}
ComplexTensor expm1(const ComplexTensor& z) { return with_one_slope("complex expm1", z, expm1_of); }

// Near the unit circle by the distance from it, of which the magnitude has lost most.
static ComplexTensor log_of(const ComplexTensor& z) {
  const Tensor a = abs(z.real()), b = abs(z.imag()), size = abs(z);
  const Tensor greater = maximum(a, b), lesser = minimum(a, b);
  const Tensor is_near = logical_and(size > 0.5, size < 2.0);
  const Tensor near = 0.5 * log1p((greater - 1.0) * (greater + 1.0) + lesser * lesser);
  return {where(is_near, near, log(size)), angle(z)};
}
ComplexTensor log(const ComplexTensor& z) { return with_one_slope("complex log", z, log_of); }

static ComplexTensor log1p_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag(), moved = x + 1.0;
  const Tensor r = x * (2.0 + x) + y * y;
  const Tensor near = where(r == 0.0, x, 0.5 * log1p(r));
  return {where(abs(z) < 0.5, near, log(hypot(moved, y))), atan2(y, moved)};
}
ComplexTensor log1p(const ComplexTensor& z) { return with_one_slope("complex log1p", z, log1p_of); }

// Without a difference of nearly equal numbers; scaled where a sum would overflow, or where squares
// have too few bits.
static ComplexTensor sqrt_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const double most = x.dtype() == f64 ? 1e300 : 1e30, least = x.dtype() == f64 ? 1e-290 : 1e-30;
  const Tensor is_great = logical_or(abs(x) > most, abs(y) > most);
  const Tensor is_small = abs(z) < least;
  const Tensor down = where(is_great, 0x1p-4, where(is_small, 0x1p40, 1.0)).to(x.dtype());
  const Tensor up = where(is_great, 4.0, where(is_small, 0x1p-20, 1.0)).to(x.dtype());
  const Tensor a = abs(x) * down, b = abs(y) * down;
  const Tensor root = sqrt(0.5 * (hypot(a, b) + a));
  const Tensor is_infinite = isinf(x);
  const Tensor other = where(root == 0.0, 0.0, b / (2.0 * root));
  const Tensor greater = where(is_infinite, graph::infinity, root * up);
  const Tensor lesser = where(is_infinite, where(isfinite(y), 0.0, graph::nan), other * up);
  const Tensor is_right = x >= 0.0, goes_up = isinf(y);
  const Tensor real = where(is_right, greater, lesser);
  const Tensor imaginary = copysign(where(is_right, lesser, greater), y);
  const Tensor is_nan = logical_and(isnan(x), logical_not(goes_up));
  return {where(goes_up, graph::infinity, where(is_nan, graph::nan, real)),
          where(goes_up, y,
                where(logical_or(is_nan, isnan(y)), where(isinf(x), imaginary, graph::nan),
                      imaginary))};
}
ComplexTensor sqrt(const ComplexTensor& z) { return with_one_slope("complex sqrt", z, sqrt_of); }

static ComplexTensor sinh_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const Reduced reduced(x);
  const Tensor a = reduced.argument(x), scale = reduced.scale();
  const Tensor real = sinh(a) * cos(y) * scale, imaginary = cosh(a) * sin(y) * scale;
  const Tensor has_no_angle = logical_and(logical_not(isfinite(y)), isinf(x));
  return {where(logical_or(x == 0.0, has_no_angle), x, real), where(y == 0.0, y, imaginary)};
}
ComplexTensor sinh(const ComplexTensor& z) { return with_one_slope("complex sinh", z, sinh_of); }

// Where either part is 0 the imaginary one is too, and has the signs of both.
static ComplexTensor cosh_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const Reduced reduced(x);
  const Tensor a = reduced.argument(x), scale = reduced.scale(), s = sin(y);
  const Tensor real = cosh(a) * cos(y) * scale, imaginary = sinh(a) * s * scale;
  const Tensor has_no_angle = logical_and(logical_not(isfinite(y)), isinf(x));
  const Tensor is_zero = logical_or(x == 0.0, y == 0.0);
  const Tensor zero = copysign(zeros(x.shape(), x.dtype()), s) * copysign(1.0, x);
  return {where(has_no_angle, abs(x), real), where(is_zero, zero, imaginary)};
}
ComplexTensor cosh(const ComplexTensor& z) { return with_one_slope("complex cosh", z, cosh_of); }

// In tanh of the real part and tan of the imaginary one (W. Kahan, Branch cuts for complex
// elementary functions, 1987). Where tanh is 1 in this dtype, the rest is 4 sin cos exp(-2 |x|).
static ComplexTensor tanh_of(const ComplexTensor& z) {
  const Tensor &x = z.real(), &y = z.imag();
  const double most = x.dtype() == f64 ? 22 : 15;
  const Tensor t = tan(y), beta = 1.0 + t * t;
  const Tensor s = sinh(clamp(x, -most, most)), rho = sqrt(1.0 + s * s);
  const Tensor norm = 1.0 + beta * s * s;
  const Tensor is_far = abs(x) > most, power = exp(-abs(x));
  const Tensor has_no_angle = logical_and(logical_not(isfinite(y)), isinf(x));
  const Tensor far = where(has_no_angle, copysign(zeros(x.shape(), x.dtype()), y),
                           4.0 * sin(y) * cos(y) * power * power);
  const Tensor real = where(is_far, copysign(1.0, x), beta * rho * s / norm);
  const Tensor imaginary = where(is_far, far, t / norm);
  return {where(x == 0.0, x, real), where(y == 0.0, y, imaginary)};
}
ComplexTensor tanh(const ComplexTensor& z) { return with_one_slope("complex tanh", z, tanh_of); }

ComplexTensor sin(const ComplexTensor& z) {
  return by_quarter_turn(z, [](const ComplexTensor& x) { return sinh(x); });
}
ComplexTensor cos(const ComplexTensor& z) { return cosh(times_i(z)); }
ComplexTensor tan(const ComplexTensor& z) {
  return by_quarter_turn(z, [](const ComplexTensor& x) { return tanh(x); });
}
static ComplexTensor sinc_of(const ComplexTensor& z) {
  const ComplexTensor angle = z * std::numbers::pi, y = sin(angle) / angle;
  const Tensor is_zero = logical_not(z);
  return {where(is_zero, 1.0, y.real()), where(is_zero, 0.0, y.imag())};
}
ComplexTensor sinc(const ComplexTensor& z) { return with_one_slope("complex sinc", z, sinc_of); }

ComplexTensor exp2(const ComplexTensor& z) { return exp(z * std::numbers::ln2); }
ComplexTensor log2(const ComplexTensor& z) { return log(z) * (1 / std::numbers::ln2); }
ComplexTensor log10(const ComplexTensor& z) { return log(z) * (1 / std::numbers::ln10); }
ComplexTensor rsqrt(const ComplexTensor& z) { return reciprocal(sqrt(z)); }
ComplexTensor sigmoid(const ComplexTensor& z) { return reciprocal(exp(-z) + 1.0); }
ComplexTensor silu(const ComplexTensor& z) { return z * sigmoid(z); }

}  // namespace tilewright
