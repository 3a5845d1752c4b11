#include "graph/functions/pointwise/elementary.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "graph/functions/pointwise/formula.h"
#include "graph/tensor/functional.h"

namespace tilewright {

using graph::choice;
using graph::floating;
using graph::Formula;
using graph::is_negative;
using graph::negated_where;
using graph::polynomial;
using graph::Terms;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double none = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = std::numbers::pi;

// Half of pi as a number of the dtype, and what that lacks.
struct HalfPi {
  double high, low;
  explicit HalfPi(DType dtype)
      : high(rounded_to(dtype, pi / 2)), low(pi / 2 - high + 6.123233995736766e-17) {}
};

// Of x that is not negative. x, its distance from 1 or its inverse is within 0.66, where Cephes'
// quotient of polynomials holds.
Formula angle_of(const Formula& x) {
  HalfPi half_pi(x.dtype());
  Formula is_large = x > 2.414213562373095, is_middle = (x > 0.66) & !is_large;
  Formula t = choice(is_large, -1 / x, choice(is_middle, (x - 1) / (x + 1), x));
  Formula z = t * t;
  Formula p = polynomial(
      z, {-6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
          -1.615753718733365076637e1, -8.750608600031904122785e-1});
  Formula q = polynomial(
      z, {1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
          1.650270098316988542046e2, 2.485846490142306297962e1, 1});
  Formula turned = t + t * (z * p / q);
  auto begun = [&](double part) {
    return choice(is_large, x.number(part), choice(is_middle, x.number(part / 2), 0));
  };
  return begun(half_pi.high) + (turned + begun(half_pi.low));
}

// asin(x) / x - 1 in terms of x^2 up to 1/4, FreeBSD's quotient of polynomials.
Formula arc_curvature(const Formula& z) {
  Formula p = polynomial(
      z, {1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
          -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05});
  Formula q = polynomial(z, {1, -2.40339491173441421878e+00, 2.02094576023350569471e+00,
                             -6.88283971605453293030e-01, 7.70381505559019352791e-02});
  return z * p / q;
}
// The angle whose cosine is a, for a between 1/2 and 1: twice that whose sine is sqrt((1 - a) / 2).
Formula angle_of_cosine(const Formula& a) {
  Formula z = (1 - a) * 0.5, s = sqrt(z);
  return 2 * (s + s * arc_curvature(z));
}

using UnaryFormula = Formula(const Formula&);
Tensor function_of(std::string_view name, const TensorOperand& x, UnaryFormula formula) {
  graph::tensor_of(x, name);
  Terms terms = floating(name, {&x});
  return graph::computed(name, terms, [&](const Terms& t) { return formula(t[0]); });
}

}  // namespace

Tensor tan(const TensorOperand& x) {
  return function_of("tan", x, [](const Formula& t) { return sin(t) / cos(t); });
}

Tensor asin(const TensorOperand& x) {
  return function_of("asin", x, [](const Formula& t) {
    Formula a = abs(t);
    HalfPi half_pi(t.dtype());
    Formula far = half_pi.high - (angle_of_cosine(a) - half_pi.low);
    return choice(a < 0.5, t + t * arc_curvature(t * t), negated_where(t < 0, far));
  });
}

Tensor acos(const TensorOperand& x) {
  return function_of("acos", x, [](const Formula& t) {
    HalfPi half_pi(t.dtype());
    Formula near = half_pi.high - (t - (half_pi.low - t * arc_curvature(t * t)));
    Formula far = angle_of_cosine(abs(t));
    Formula obtuse = 2 * half_pi.high - (far - 2 * half_pi.low);
    return choice(abs(t) < 0.5, near, choice(t < 0, obtuse, far));
  });
}

Tensor atan(const TensorOperand& x) {
  return function_of("atan", x, [](const Formula& t) {
    // A -0 stays one.
    return choice(t == 0, t, negated_where(t < 0, angle_of(abs(t))));
  });
}

namespace {

Formula angle_of_point(const Terms& point) {
  const Formula &rise = point[0], &run = point[1];
  HalfPi half_pi(rise.dtype());
  Formula a = abs(rise), b = abs(run);
  Formula most = greater(a, b), least = lesser(a, b);
  Formula ratio = choice(least == infinity, 1, choice(most == 0, most, least / most));
  Formula angle = angle_of(ratio);
  angle = choice(a > b, half_pi.high - (angle - half_pi.low), angle);
  angle = choice(is_negative(run), 2 * half_pi.high - (angle - 2 * half_pi.low), angle);
  return negated_where(is_negative(rise), angle);
}

}  // namespace

Tensor atan2(const TensorOperand& y, const TensorOperand& x) {
  return graph::computed("atan2", floating("atan2", {&y, &x}), angle_of_point);
}

// By exp(|x|) - 1, and beyond by the exponential of half, whose square may be infinite first.
Tensor sinh(const TensorOperand& x) {
  return function_of("sinh", x, [](const Formula& t) {
    Formula a = abs(t), e = expm1(a), half = exp(a * 0.5);
    Formula magnitude = choice(a < 22, 0.5 * (e + e / (e + 1)), half * 0.5 * half);
    return choice(t == 0, t, negated_where(t < 0, magnitude));
  });
}
Tensor cosh(const TensorOperand& x) {
  return function_of("cosh", x, [](const Formula& t) {
    Formula a = abs(t), e = exp(a), half = exp(a * 0.5);
    return choice(a < 22, 0.5 * e + 0.5 / e, half * 0.5 * half);
  });
}

namespace {

// Where 1 is lost in the square of x.
double lost_from(DType dtype) { return dtype == DType::f64 ? 0x1p28 : 0x1p14; }

}  // namespace

Tensor asinh(const TensorOperand& x) {
  return function_of("asinh", x, [](const Formula& t) {
    Formula a = abs(t), z = a * a;
    Formula near = log1p(a + z / (1 + sqrt(z + 1))), far = log(a) + std::numbers::ln2;
    Formula magnitude = choice(a < lost_from(t.dtype()), near, far);
    return choice(t == 0, t, negated_where(t < 0, magnitude));
  });
}
Tensor acosh(const TensorOperand& x) {
  return function_of("acosh", x, [](const Formula& t) {
    Formula more = t - 1;
    Formula near = log1p(more + sqrt(2 * more + more * more)), far = log(t) + std::numbers::ln2;
    return choice(t < 1, none, choice(t < lost_from(t.dtype()), near, far));
  });
}
Tensor atanh(const TensorOperand& x) {
  return function_of("atanh", x, [](const Formula& t) {
    Formula a = abs(t), magnitude = 0.5 * log1p(2 * a / (1 - a));
    return choice(t == 0, t, negated_where(t < 0, magnitude));
  });
}

Tensor deg2rad(const TensorOperand& x) {
  return function_of("deg2rad", x, [](const Formula& t) { return t * (pi / 180); });
}
Tensor rad2deg(const TensorOperand& x) {
  return function_of("rad2deg", x, [](const Formula& t) { return t * (180 / pi); });
}
Tensor sinc(const TensorOperand& x) {
  return function_of("sinc", x, [](const Formula& t) {
    Formula angle = t * pi;
    return choice(t == 0, 1, sin(angle) / angle);
  });
}

// Powers of ten have whole logarithms, which f32 alone would miss.
Tensor log10(const TensorOperand& x) {
  return function_of("log10", x, [](const Formula& t) {
    constexpr double of_two = 0.30102999566398119521;
    return (log2(t.to(DType::f64)) * of_two).to(t.dtype());
  });
}

Tensor hypot(const TensorOperand& a, const TensorOperand& b) {
  return graph::computed("hypot", floating("hypot", {&a, &b}), [](const Terms& sides) {
    Formula x = abs(sides[0]), y = abs(sides[1]);
    Formula most = greater(x, y), ratio = lesser(x, y) / most;
    Formula length = choice(most == 0, most, most * sqrt(ratio * ratio + 1));
    return choice((x == infinity) | (y == infinity), infinity, length);
  });
}

namespace {

Tensor sum_of_powers(std::string_view name, const TensorOperand& a, const TensorOperand& b,
                     UnaryFormula log_of_one_and_power) {
  return graph::computed(name, floating(name, {&a, &b}), [&](const Terms& logarithms) {
    const Formula &x = logarithms[0], &y = logarithms[1];
    Formula sum = greater(x, y) + log_of_one_and_power(-abs(x - y));
    return choice((x == y) & is_infinite(x), x, sum);
  });
}

}  // namespace

Tensor logaddexp(const TensorOperand& a, const TensorOperand& b) {
  return sum_of_powers("logaddexp", a, b, [](const Formula& less) { return log1p(exp(less)); });
}
Tensor logaddexp2(const TensorOperand& a, const TensorOperand& b) {
  return sum_of_powers("logaddexp2", a, b,
                       [](const Formula& less) { return log1p(exp2(less)) * std::numbers::log2e; });
}

Tensor xlogy(const TensorOperand& x, const TensorOperand& y) {
  return graph::computed("xlogy", floating("xlogy", {&x, &y}), [](const Terms& t) {
    return choice((t[0] == 0) & !is_nan(t[1]), 0, t[0] * log(t[1]));
  });
}

// Around 1/2, where the quotient is near 1, by what it is more than that.
Tensor logit(const TensorOperand& x, std::optional<double> eps) {
  graph::tensor_of(x, "logit");
  auto formula = [&](const Terms& t) {
    Formula p = t[0];
    if (eps) p = lesser(greater(p, p.number(*eps)), 1 - p.number(*eps));
    Formula rest = 1 - p, near = log1p((p - rest) / rest);
    return choice(abs(p - 0.5) < 0.25, near, log(p / rest));
  };
  return graph::computed("logit", floating("logit", {&x}), formula, {eps.value_or(none)});
}

}  // namespace tilewright
