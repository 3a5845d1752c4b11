#include "graph/functions/pointwise/bessel.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "graph/functions/pointwise/bessel_series.h"
#include "graph/functions/pointwise/chebyshev.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/functions/pointwise/scaled_bessel.h"
#include "graph/tensor/functional.h"

namespace tilewright {

using graph::chebyshev;
using graph::choice;
using graph::Formula;
using graph::infinity;
using graph::nan;
using graph::pi;
using graph::Terms;
namespace series = bessel_series;

namespace {

template <typename F>
Tensor in_double(std::string_view name, const TensorOperand& x, F function) {
  graph::tensor_of(x, name);
  return graph::computed(name, graph::floating(name, {&x}), [&](const Terms& t) {
    Formula wide = t[0].to(DType::f64);
    return choice(graph::is_nan(wide), wide, function(wide));
  });
}

Formula bounded(const Formula& x, double least, double most) {
  return choice(x < least, least, choice(x > most, most, x));
}

// Beyond 8 a wave: of which P and Q change slowly, and the phase is x - (2 order + 1) pi / 4.
struct Wave {
  Formula size, sine, cosine;  // P and Q times these
};
Wave wave_of(const Formula& x, int order) {
  const double half = std::numbers::sqrt2 / 2;
  Formula s = sin(x), c = cos(x), size = sqrt((2 / pi) / x);
  if (order == 0) return {size, (s - c) * half, (s + c) * half};
  return {size, -(s + c) * half, (s - c) * half};
}
struct Parts {
  Formula p, q;
};
Parts parts_of(const Formula& x, int order) {
  Formula y = 128 / (x * x) - 1, over = 8 / x;
  return order == 0 ? Parts{chebyshev(y, series::p0_large), chebyshev(y, series::q0_large) * over}
                    : Parts{chebyshev(y, series::p1_large), chebyshev(y, series::q1_large) * over};
}
Formula far(const Formula& x, int order, bool is_second) {
  Wave wave = wave_of(x, order);
  Parts parts = parts_of(x, order);
  Formula value = is_second ? parts.p * wave.sine + parts.q * wave.cosine
                            : parts.p * wave.cosine - parts.q * wave.sine;
  return choice(x == infinity, 0.0, wave.size * value);
}

// For x up to 8.
Formula near_j(const Formula& x, int order) {
  Formula y = x * x / 32 - 1;
  return order == 0 ? chebyshev(y, series::j0_small) : x * chebyshev(y, series::j1_small);
}
Formula first_kind(const Formula& x, int order) {
  Formula a = abs(x);
  Formula value =
      choice(a < 8, near_j(bounded(a, 0, 8), order), far(choice(a < 8, 8.0, a), order, false));
  return order == 0 ? value : graph::negated_where(x < 0, value);
}
Formula second_kind(const Formula& x, int order) {
  Formula low = bounded(x, 0, 8), y = low * low / 32 - 1, logarithm = log(low) * (2 / pi);
  Formula near = order == 0 ? logarithm * near_j(low, 0) + chebyshev(y, series::y0_small)
                            : logarithm * near_j(low, 1) - (2 / pi) / low +
                                  low * chebyshev(y, series::y1_small);
  Formula value = choice(x < 8, near, far(choice(x < 8, 8.0, x), order, true));
  return choice(x == 0, -infinity, choice(x < 0, nan, value));
}

// exp(-|x|) i1(|x|).
Formula scaled_i1(const Formula& a) {
  Formula low = bounded(a, 0, 8), high = choice(a < 8, 8.0, a);
  Formula near = low * chebyshev(low * 0.25 - 1, series::i1_small);
  return choice(a < 8, near, chebyshev(16 / high - 1, series::i1_large) / sqrt(high));
}
// Times exp(a), in halves, as that is infinite before the product is.
Formula grown(const Formula& a, const Formula& scaled) {
  Formula half = exp(a * 0.5);
  return choice(a == infinity, infinity, scaled * half * half);
}

Formula k_of(const Formula& x, int order, bool is_scaled) {
  Formula low = bounded(x, 0, 2), high = choice(x < 2, 2.0, x), y = low * low * 0.5 - 1;
  Formula logarithm = log(low * 0.5);
  Formula i_zero = grown(low, graph::scaled_i0(low));
  Formula near =
      order == 0 ? chebyshev(y, series::k0_small) - logarithm * i_zero
                 : chebyshev(y, series::k1_small) / low + logarithm * grown(low, scaled_i1(low));
  Formula away = chebyshev(4 / high - 1, order == 0 ? std::span<const double>(series::k0_large)
                                                    : std::span<const double>(series::k1_large)) /
                 sqrt(high);
  Formula value =
      is_scaled ? choice(x < 2, near * exp(low), away) : choice(x < 2, near, away * exp(-high));
  value = choice(x == infinity, 0.0, value);
  return choice(x == 0, infinity, choice(x < 0, nan, value));
}

// In three parts: a wave below -8, a series up to 2, and what falls as exp(-v) beyond.
Formula airy(const Formula& x) {
  const double first = 2.0 / 3 * std::pow(8, 1.5), second = 2.0 / 3 * std::pow(2, 1.5);
  auto fourth_root = [](const Formula& z) { return sqrt(sqrt(z)); };
  Formula z = choice(x < -8, -x, 8.0), v = z * sqrt(z) * (2.0 / 3);
  Formula over = first / v, y = over * over * 2 - 1;
  Formula s = sin(v), c = cos(v), half = v.number(std::numbers::sqrt2 / 2);
  Formula below = ((s + c) * half * chebyshev(y, series::airy_p) -
                   (c - s) * half * chebyshev(y, series::airy_q) / v) /
                  (fourth_root(z) * std::sqrt(pi));
  below = choice(x == -infinity, 0.0, below);
  Formula middle = chebyshev((bounded(x, -8, 2) + 3) * 0.2, series::airy_middle);
  Formula high = choice(x > 2, x, 2.0), w = high * sqrt(high) * (2.0 / 3);
  Formula above = exp(-w) * chebyshev((2 * second) / w - 1, series::airy_large) / fourth_root(high);
  above = choice(x == infinity, 0.0, above);
  return choice(x < -8, below, choice(x > 2, above, middle));
}

}  // namespace

Tensor bessel_j0(const TensorOperand& x) {
  return in_double("bessel_j0", x, [](const Formula& t) { return first_kind(t, 0); });
}
Tensor bessel_j1(const TensorOperand& x) {
  return in_double("bessel_j1", x, [](const Formula& t) { return first_kind(t, 1); });
}
Tensor bessel_y0(const TensorOperand& x) {
  return in_double("bessel_y0", x, [](const Formula& t) { return second_kind(t, 0); });
}
Tensor bessel_y1(const TensorOperand& x) {
  return in_double("bessel_y1", x, [](const Formula& t) { return second_kind(t, 1); });
}
Tensor spherical_bessel_j0(const TensorOperand& x) {
  return in_double("spherical_bessel_j0", x, [](const Formula& t) {
    Formula value = choice(t == 0, 1.0, sin(t) / t);
    return choice(graph::is_infinite(t), 0.0, value);
  });
}
Tensor i1(const TensorOperand& x) {
  return in_double("i1", x, [](const Formula& t) {
    Formula a = abs(t);
    return graph::negated_where(t < 0, grown(a, scaled_i1(a)));
  });
}
Tensor i0e(const TensorOperand& x) {
  return in_double("i0e", x, [](const Formula& t) { return graph::scaled_i0(abs(t)); });
}
Tensor i1e(const TensorOperand& x) {
  return in_double("i1e", x,
                   [](const Formula& t) { return graph::negated_where(t < 0, scaled_i1(abs(t))); });
}
Tensor modified_bessel_k0(const TensorOperand& x) {
  return in_double("modified_bessel_k0", x, [](const Formula& t) { return k_of(t, 0, false); });
}
Tensor modified_bessel_k1(const TensorOperand& x) {
  return in_double("modified_bessel_k1", x, [](const Formula& t) { return k_of(t, 1, false); });
}
Tensor scaled_modified_bessel_k0(const TensorOperand& x) {
  return in_double("scaled_modified_bessel_k0", x,
                   [](const Formula& t) { return k_of(t, 0, true); });
}
Tensor scaled_modified_bessel_k1(const TensorOperand& x) {
  return in_double("scaled_modified_bessel_k1", x,
                   [](const Formula& t) { return k_of(t, 1, true); });
}
Tensor airy_ai(const TensorOperand& x) { return in_double("airy_ai", x, airy); }

}  // namespace tilewright
