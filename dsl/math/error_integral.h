// Formulas of the error integral, its complement and their inverses, in the terms that
// dsl/math/angles.h explains: within 8 units in the last place in f32 and 32 in f64, unless noted
// otherwise.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/base/dtype.h"

namespace tilewright::dsl::formulas {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double root_half = std::numbers::sqrt2 / 2;

// erfc of x that is not negative, by FreeBSD's quotients of polynomials.
template <typename T>
T complement_near_zero(const T& x) {
  T z = x * x;
  T p = polynomial(
      z, {1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
          -5.77027029648944159157e-03, -2.37630166566501626084e-05});
  T q = polynomial(
      z, {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
          1.32494738004321644526e-04, -3.96022827877536812320e-06});
  T more = x * (p / q);
  return choice(x < 0.25, 1 - (x + more), 0.5 - (more + (x - 0.5)));
}
template <typename T>
T complement_around_one(const T& x) {
  T s = x - 1;
  T p = polynomial(
      s, {-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
          3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
          -2.16637559486879084300e-03});
  T q = polynomial(
      s, {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
          1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02});
  constexpr double at_one = 8.45062911510467529297e-01;
  return 1 - at_one - p / q;
}
// The logarithm of erfc(x) exp(x^2 + 0.5625) x, for x from 1.25 on, as a series in 1 / x^2.
template <typename T>
T far_series(const T& x) {
  T s = 1 / (x * x);
  T p = polynomial(
      s, {-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
          -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
          -8.12874355063065934246e+01, -9.81432934416914548592e+00});
  T q = polynomial(
      s, {1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
          6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
          6.57024977031928170135e+00, -6.04244152148580987438e-02});
  T p_far = polynomial(
      s, {-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
          -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
          -4.83519191608651397019e+02});
  T q_far = polynomial(
      s, {1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
          3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
          -2.24409524465858183362e+01});
  return choice(x < 1 / 0.35, p / q, p_far / q_far);
}
// The square is that of x with less than half of its digits, exact with 0.5625 too, and of the
// missing digits.
template <typename T>
T complement_far(const T& x) {
  T series = far_series(x);
  const double halves = std::ldexp(1.0, digits(x.dtype()) / 2 + 1) + 1;
  T scaled = x * halves, head = scaled - (scaled - x);
  T rest = (head - x) * (head + x);
  return exp(-head * head - 0.5625) * exp(rest + series) / x;
}

template <typename T>
T complement(const T& x) {
  constexpr double last = 28;  // beyond it is 0
  T a = abs(x), bounded = choice(a > last, last, a);
  T far = choice(bounded < 1.25, complement_around_one(bounded), complement_far(bounded));
  T tail = choice(bounded < 0.84375, complement_near_zero(bounded), far);
  return choice(x < 0, 2 - tail, tail);
}

// For x that is not negative, without its exponential; else twice that less than the mirrored one.
template <typename T>
T scaled_complement(const T& x) {
  T a = abs(x), low = choice(a < 1.25, a, 1.25), high = choice(a < 1.25, 1.25, a);
  T scaled =
      choice(a < 1.25, exp(low * low) * complement(low), exp(far_series(high) - 0.5625) / high);
  scaled = choice(a == infinity, 0.0, scaled);
  return choice(x < 0, 2 * exp(x * x) - scaled, scaled);
}

// Within some 1e-7 for f32, from which Halley's steps come (M. Giles: Approximating the erfinv
// function).
template <typename T>
T first_inverse(const T& a) {
  T w = -log((1 - a) * (1 + a)), root = sqrt(w) - 3;
  T near =
      polynomial(w - 2.5, {1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
                           -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08});
  T far = polynomial(root, {2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
                            -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257});
  // The series ends where f32 does; behind, that root is near enough.
  return a * choice(w < 5, near, choice(root > 1.5, root + 2.8, far));
}

// The error near 0 is that of erf, and near 1 that of its difference from 1.
template <typename T>
T halley_step(const T& a, const T& y) {
  T error = choice(a < 0.5, erf(y) - a, (1 - a) - complement(y));
  T newton = error * (std::sqrt(std::numbers::pi) / 2) * exp(y * y);
  return y - newton / (1 + y * newton);
}

template <typename T>
T erfinv(const T& x) {
  T a = abs(x), y = first_inverse(a);
  const int steps = a.dtype() == DType::f64 ? 3 : 1;
  for (int i = 0; i < steps; ++i) y = halley_step(a, y);
  y = choice(a == 1, infinity, y);
  return choice(a == 0, x, negated_where(x < 0, y));
}

// The quantile of p for x = p - 1/2 of a magnitude up to 1/2 - exp(-2), by S. Moshier's quotients
// of polynomials (Cephes, ndtri), as the next function.
template <typename T>
T central_quantile(const T& x) {
  T y = x * x;
  T p = polynomial(
      y, {-1.23916583867381258016e+00, 1.39312609387279679503e+01, -5.66762857469070293439e+01,
          9.80010754185999661536e+01, -5.99633501014107895267e+01});
  T q = polynomial(
      y, {-1.18331621121330003142e+00, 1.59056225126211695515e+01, -8.20372256168333339912e+01,
          2.00260212380060660359e+02, -2.25462687854119370527e+02, 8.63602421390890590575e+01,
          4.67627912898881538453e+00, 1.95448858338141759834e+00, 1});
  return (x + x * (y * p / q)) * std::sqrt(2 * std::numbers::pi);
}
// The quantile of p up to exp(-2) by its logarithm: the root of twice that less a correction, which
// is a quotient of polynomials below 8 and another one up to 64.
template <typename T>
T far_quantile(const T& logarithm) {
  T root = sqrt(logarithm * -2), z = 1 / root, is_near = root < 8;
  T near = polynomial(
      z, {-8.57456785154685413611e-04, -3.50424626827848203418e-02, -1.40256079171354495875e-01,
          2.18663306850790267539e+00, 1.46849561928858024014e+01, 4.40805073893200834700e+01,
          5.71628192246421288162e+01, 3.15251094599893866154e+01, 4.05544892305962419923e+00});
  T under_near = polynomial(
      z, {-9.33259480895457427372e-04, -3.80806407691578277194e-02, -1.42182922854787788574e-01,
          2.50464946208309415979e+00, 1.50425385692907503408e+01, 4.13172038254672030440e+01,
          4.53907635128879210584e+01, 1.57799883256466749731e+01, 1});
  T far = polynomial(
      z, {6.23974539184983293730e-09, 2.65806974686737550832e-06, 3.01581553508235416007e-04,
          1.23716634817820021358e-02, 2.01485389549179081538e-01, 1.33303460815807542389e+00,
          3.93881025292474443415e+00, 6.91522889068984211695e+00, 3.23774891776946035970e+00});
  T under_far = polynomial(
      z, {6.79019408009981274425e-09, 2.89247864745380683936e-06, 3.28014464682127739104e-04,
          1.34204006088543189037e-02, 2.16236993594496635890e-01, 1.37702099489081330271e+00,
          3.67983563856160859403e+00, 6.02427039364742014255e+00, 1});
  T correction = choice(is_near, near, far) / choice(is_near, under_near, under_far) + log(root);
  return correction * z - root;
}
// The quantile of p from above 0 up to 1/2, and of its logarithm.
template <typename T>
T lower_quantile(const T& p, const T& logarithm) {
  constexpr double border = 0.13533528323661269;  // exp(-2)
  T is_far = p < border;
  return choice(is_far, far_quantile(choice(is_far, logarithm, -2)), central_quantile(p - 0.5));
}

// Up to where the integral of the normal density is p; of f64.
template <typename T>
T normal_quantile(const T& p) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  T is_high = p > 0.5, low = choice(is_high, 1 - p, p), inside = choice(low > 0, low, 0.5);
  T x = negated_where(is_high, lower_quantile(inside, log(inside)));
  x = choice(p == 0, -infinity, choice(p == 1, infinity, x));
  return choice((p < 0) | (p > 1), nan, x);
}

}  // namespace tilewright::dsl::formulas
