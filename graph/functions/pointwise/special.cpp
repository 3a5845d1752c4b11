#include "graph/functions/pointwise/special.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "graph/functions/pointwise/chebyshev.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/functions/pointwise/scaled_bessel.h"
#include "graph/tensor/functional.h"

namespace tilewright {

using graph::chebyshev;
using graph::choice;
using graph::floating;
using graph::Formula;
using graph::negated_where;
using graph::polynomial;
using graph::Terms;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// erfc of x that is not negative, by FreeBSD's quotients of polynomials.
Formula complement_near_zero(const Formula& x) {
  Formula z = x * x;
  Formula p = polynomial(
      z, {1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
          -5.77027029648944159157e-03, -2.37630166566501626084e-05});
  Formula q = polynomial(
      z, {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
          1.32494738004321644526e-04, -3.96022827877536812320e-06});
  Formula more = x * (p / q);
  return choice(x < 0.25, 1 - (x + more), 0.5 - (more + (x - 0.5)));
}
Formula complement_around_one(const Formula& x) {
  Formula s = x - 1;
  Formula p = polynomial(
      s, {-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
          3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
          -2.16637559486879084300e-03});
  Formula q = polynomial(
      s, {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
          1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02});
  constexpr double at_one = 8.45062911510467529297e-01;
  return 1 - at_one - p / q;
}
// The logarithm of erfc(x) exp(x^2 + 0.5625) x, for x from 1.25 on, as a series in 1 / x^2.
Formula far_series(const Formula& x) {
  Formula s = 1 / (x * x);
  Formula p = polynomial(
      s, {-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
          -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
          -8.12874355063065934246e+01, -9.81432934416914548592e+00});
  Formula q = polynomial(
      s, {1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
          6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
          6.57024977031928170135e+00, -6.04244152148580987438e-02});
  Formula p_far = polynomial(
      s, {-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
          -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
          -4.83519191608651397019e+02});
  Formula q_far = polynomial(
      s, {1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
          3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
          -2.24409524465858183362e+01});
  return choice(x < 1 / 0.35, p / q, p_far / q_far);
}
// The square is that of x with less than half of its digits, exact with 0.5625 too, and of what
// these lack.
Formula complement_far(const Formula& x) {
  Formula series = far_series(x);
  const double halves = std::ldexp(1.0, digits(x.dtype()) / 2 + 1) + 1;
  Formula scaled = x * halves, head = scaled - (scaled - x);
  Formula rest = (head - x) * (head + x);
  return exp(-head * head - 0.5625) * exp(rest + series) / x;
}

Formula complement(const Formula& x) {
  constexpr double last = 28;  // beyond it is 0
  Formula a = abs(x), bounded = choice(a > last, last, a);
  Formula far = choice(bounded < 1.25, complement_around_one(bounded), complement_far(bounded));
  Formula tail = choice(bounded < 0.84375, complement_near_zero(bounded), far);
  return choice(x < 0, 2 - tail, tail);
}

}  // namespace

Tensor erfc(const TensorOperand& x) {
  graph::tensor_of(x, "erfc");
  return graph::computed("erfc", floating("erfc", {&x}),
                         [](const Terms& t) { return complement(t[0]); });
}

namespace {

// Of x that is not negative without its exponential; else twice that less than the mirrored one.
Formula scaled_complement(const Formula& x) {
  Formula a = abs(x), low = choice(a < 1.25, a, 1.25), high = choice(a < 1.25, 1.25, a);
  Formula scaled =
      choice(a < 1.25, exp(low * low) * complement(low), exp(far_series(high) - 0.5625) / high);
  scaled = choice(a == infinity, 0.0, scaled);
  return choice(x < 0, 2 * exp(x * x) - scaled, scaled);
}

constexpr double root_half = std::numbers::sqrt2 / 2;

Formula log_of_normal_integral(const Formula& x) {
  Formula low = choice(x < -1, x, -1.0), high = choice(x < -1, -1.0, x);
  Formula below = log(scaled_complement(-low * root_half) * 0.5) - low * low * 0.5;
  return choice(x < -1, below, log1p(complement(high * root_half) * -0.5));
}

// Of p up to 1/2, from a quotient within 4.5e-4 (Abramowitz and Stegun 26.2.23) by Newton's steps
// for the integral's logarithm.
Formula normal_quantile(const Formula& p) {
  Formula wanted = log(p), t = sqrt(wanted * -2.0);
  Formula x = polynomial(t, {2.515517, 0.802853, 0.010328}) /
                  polynomial(t, {1, 1.432788, 0.189269, 0.001308}) -
              t;
  for (int step = 0; step < 3; ++step) {
    Formula scaled = scaled_complement(-x * root_half);
    Formula error = log(scaled * 0.5) - x * x * 0.5 - wanted;
    x = x - error * scaled * std::sqrt(std::numbers::pi / 2);
  }
  return x;
}

template <typename F>
Tensor in_double(std::string_view name, const TensorOperand& x, F function) {
  graph::tensor_of(x, name);
  return graph::computed(name, floating(name, {&x}), [&](const Terms& t) {
    Formula wide = t[0].to(DType::f64);
    return choice(is_nan(wide), wide, function(wide));
  });
}

}  // namespace

Tensor erfcx(const TensorOperand& x) { return in_double("erfcx", x, scaled_complement); }
Tensor ndtr(const TensorOperand& x) {
  return in_double("ndtr", x, [](const Formula& t) { return complement(-t * root_half) * 0.5; });
}
Tensor log_ndtr(const TensorOperand& x) { return in_double("log_ndtr", x, log_of_normal_integral); }
Tensor ndtri(const TensorOperand& p) {
  return in_double("ndtri", p, [](const Formula& t) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    Formula is_high = t > 0.5, low = choice(is_high, 1 - t, t);
    Formula inside = normal_quantile(choice((t > 0) & (t < 1), low, 0.25));
    Formula x = negated_where(is_high, inside);
    x = choice(t == 0.5, 0.0, choice(t == 0, -infinity, choice(t == 1, infinity, x)));
    return choice((t < 0) | (t > 1), nan, x);
  });
}

namespace {

// Within some 1e-7 for f32, from which Halley's steps come (M. Giles: Approximating the erfinv
// function).
Formula first_inverse(const Formula& a) {
  Formula w = -log((1 - a) * (1 + a)), root = sqrt(w) - 3;
  Formula near =
      polynomial(w - 2.5, {1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
                           -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08});
  Formula far =
      polynomial(root, {2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
                        -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257});
  // The series ends where f32 does; behind, that root is near enough.
  return a * choice(w < 5, near, choice(root > 1.5, root + 2.8, far));
}

// The error near 0 is that of erf, and near 1 that of what is left to 1.
Formula halley_step(const Formula& a, const Formula& y) {
  Formula error = choice(a < 0.5, erf(y) - a, (1 - a) - complement(y));
  Formula newton = error * (std::sqrt(std::numbers::pi) / 2) * exp(y * y);
  return y - newton / (1 + y * newton);
}

}  // namespace

Tensor erfinv(const TensorOperand& x) {
  graph::tensor_of(x, "erfinv");
  return graph::computed("erfinv", floating("erfinv", {&x}), [](const Terms& t) {
    Formula a = abs(t[0]), y = first_inverse(a);
    const int steps = a.dtype() == DType::f64 ? 3 : 1;
    for (int i = 0; i < steps; ++i) y = halley_step(a, y);
    y = choice(a == 1, infinity, y);
    return choice(a == 0, t[0], negated_where(t[0] < 0, y));
  });
}

namespace {

// exp(-x) i0(x) up to 8, and that times sqrt(x) beyond; the first of each are enough for f32.
constexpr double of_small[] = {
    3.38397637204738033e-01,  -3.04682672343198402e-01, 1.71620901522208769e-01,
    -9.49010970480476390e-02, 4.93052842396707117e-02,  -2.37374148058994705e-02,
    1.05464603945949979e-02,  -4.32430999505057593e-03, 1.63947561694133574e-03,
    -5.76375574538582356e-04, 1.88502885095841649e-04,  -5.75419501008210397e-05,
    1.64484480707288956e-05,  -4.41673835845875052e-06, 1.11738753912010366e-06,
    -2.67079385394061193e-07, 6.04699502254191863e-08,  -1.30002500998624805e-08,
    2.65982372468238660e-09,  -5.18979560163526271e-10, 9.67580903537323697e-11,
    -1.72682629144155587e-11, 2.95505266312963988e-12,  -4.85644678311192896e-13,
    7.67618549860493607e-14,  -1.16853328779934514e-14, 1.71539128555513307e-15};
constexpr double of_large[] = {
    4.02245205507054393e-01,  3.36911647825569429e-03,  6.88975834691682454e-05,
    2.89137052083475665e-06,  2.04891858946906384e-07,  2.26666899049817804e-08,
    3.39623202570838651e-09,  4.94060238822497006e-10,  1.18891471078464390e-11,
    -3.14991652796324165e-11, -1.32158118404477133e-11, -1.79417853150680615e-12,
    7.18012445138366601e-13,  3.85277838274214259e-13,  1.54008621752140996e-14,
    -4.15056934728722224e-14, -9.55484669882830731e-15, 3.81168066935262083e-15,
    1.77256013305652454e-15,  -3.42548561967714208e-16, -2.82762398051664577e-16,
    3.46122286769565793e-17};
constexpr std::size_t small_for_float = 19, large_for_float = 7;

}  // namespace

Formula graph::scaled_i0(const Formula& a) {
  Formula below = choice(a < 8, a, 8), above = choice(a < 8, 8, a);
  bool is_double = a.dtype() == DType::f64;
  std::span<const double> small = of_small, large = of_large;
  Formula near =
      chebyshev(below * 0.25 - 1, small.first(is_double ? small.size() : small_for_float));
  Formula far = chebyshev(16 / above - 1, large.first(is_double ? large.size() : large_for_float));
  return choice(a < 8, near, far / sqrt(above));
}

namespace {

Formula bessel(const Formula& x) {
  Formula a = abs(x);
  // In halves, as the exponential is infinite before its product is.
  Formula half = exp(a * 0.5), value = graph::scaled_i0(a) * half * half;
  value = choice(a == infinity, infinity, value);
  return choice(is_nan(a), a, value);
}

}  // namespace

Tensor i0(const TensorOperand& x) {
  graph::tensor_of(x, "i0");
  return graph::computed("i0", floating("i0", {&x}), [](const Terms& t) { return bessel(t[0]); });
}

}  // namespace tilewright
