#include "graph/functions/pointwise/gamma.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "dsl/math/half_turns.h"
#include "dsl/math/log_gamma.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::choice;
using graph::floating;
using graph::Formula;
using graph::infinity;
using graph::nan;
using graph::pi;
using graph::polynomial;
using graph::Terms;

namespace {

Formula is_integer(const Formula& x) { return x == floor(x); }

// By the recurrence from y + 10 if y is below 10, and from there the asymptotic series (Abramowitz
// and Stegun 6.3.5, 6.3.18); below 0 mirrored (6.3.7). The sum of 1 / (y + i) for i up to 9 is one
// quotient of polynomials in terms of y (y + 9), and with pi / tan(pi x) one division.
Formula psi(const Formula& x) {
  Formula is_below = x < 0, y = choice(is_below, 1 - x, x), is_small = y < 10;
  Formula v = y * (y + 9);
  Formula over = (y + y + 9) * polynomial(v, {40320, 24352, 3924, 240, 5});
  Formula under = v * polynomial(v, {40320, 12176, 1308, 60, 1});
  over = choice(is_small, over, 0.0);
  under = choice(is_small, under, 1.0);
  Formula r = x - round(x);
  Formula sine = choice(is_below, dsl::formulas::sine_of_half_turns(r), 1.0);
  Formula cosine = choice(is_below, dsl::formulas::cosine_of_half_turns(r) * pi, 0.0);
  Formula taken_away = (over * sine + under * cosine) / (under * sine);
  Formula from = choice(is_small, y + 10, y), inverse = 1 / from, w = inverse * inverse;
  Formula series = w * polynomial(w, {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                                      -691.0 / 32760, 1.0 / 12});
  Formula value = log(from) - inverse * 0.5 - series - taken_away;
  return choice(is_below & (r == 0), nan, value);
}

// Bernoulli's numbers over factorials, of Euler's and Maclaurin's formula (Abramowitz and Stegun
// 23.1.30).
constexpr double bernoulli[] = {1.0 / 12,
                                -1.0 / 720,
                                1.0 / 30240,
                                -1.0 / 1209600,
                                1.0 / 47900160,
                                -691.0 / 1307674368000,
                                1.0 / 74724249600,
                                -3617.0 / 10670622842880000,
                                43867.0 / 5109094217170944000};
constexpr int first_terms = 10;  // of the sum; the formula gives the others

Formula power(const Formula& base, const Formula& exponent) { return exp(exponent * log(base)); }

// For q above 0.
Formula zeta_of_positive(const Formula& s, const Formula& q) {
  Formula sum = s.number(0);
  for (int i = 0; i < first_terms; ++i) sum = sum + power(q + static_cast<double>(i), -s);
  Formula a = q + first_terms, term = power(a, -s);
  sum = sum + term * a / (s - 1) + term * 0.5;
  Formula factor = s, over = term / a;
  for (int j = 0; j < std::ssize(bernoulli); ++j) {
    sum = sum + over * factor * bernoulli[j];
    factor = factor * (s + static_cast<double>(2 * j + 1)) * (s + static_cast<double>(2 * j + 2));
    over = over / (a * a);
  }
  return choice(q == infinity, 0.0, sum);
}

// Below 0 the first terms, up to the first that is above, are those of another such sum, with
// (-1)^s as their sign.
Formula zeta(const Formula& s, const Formula& q) {
  Formula down = floor(q), is_below = q < 0, part = choice(is_below, q - down, q);
  Formula above = zeta_of_positive(s, choice(part == 0, 1.0, part));
  Formula mirrored = zeta_of_positive(s, choice(part == 0, 1.0, 1 - part)) -
                     zeta_of_positive(s, choice(is_below, 1 - part - down, part.number(1)));
  Formula is_odd = s - 2 * floor(s * 0.5) != 0;
  Formula below = above + choice(is_odd, -mirrored, mirrored);
  below = choice(is_integer(s), below, nan);
  Formula value = choice(is_below, below, above);
  value = choice((q <= 0) & is_integer(q), infinity, value);
  value = choice(s == 1, infinity, choice(s < 1, nan, value));
  return choice(graph::is_nan(s) | graph::is_nan(q), nan, value);
}

Formula power(const Formula& base, int exponent) {
  if (exponent == 1) return base;
  const Formula root = power(base, exponent / 2), square = root * root;
  return exponent % 2 == 0 ? square : square * base;
}

// The same sum for a whole s from 2 on.
Formula zeta_of_positive(int s, const Formula& q) {
  Formula a = q + first_terms, inverse = 1 / a;
  std::vector<double> series;
  double factor = s;
  for (int j = 0; j < std::ssize(bernoulli); ++j) {
    series.push_back(factor * bernoulli[j]);
    factor *= (s + 2.0 * j + 1) * (s + 2.0 * j + 2);
  }
  Formula rest = a / a.number(s - 1) + 0.5 + inverse * polynomial(inverse * inverse, series);
  Formula sum = power(inverse, s) * rest;
  for (int i = first_terms; i-- > 0;) sum = sum + power(1 / (q + i), s);
  return choice(q == infinity, 0.0, sum);
}

// The sum over all integers k of (x + k)^-s, for r = x less the integer next to it: up to a factor
// the derivative of order s - 1 of pi / tan(pi x), a polynomial of the cotangent, whose terms all
// have one sign (Abramowitz and Stegun 6.4.7).
Formula sum_on_both_sides(int s, const Formula& r) {
  std::vector<double> factors = {0, 1};  // of powers of the cotangent
  for (int order = 1; order < s; ++order) {
    std::vector<double> next(factors.size() + 1, 0.0);
    for (std::size_t k = 1; k < factors.size(); ++k) {
      const double slope = static_cast<double>(k) * factors[k] / order;
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    factors = next;
  }
  const std::size_t lowest = s % 2 == 0 ? 0 : 1;
  std::vector<double> of_squares;
  for (std::size_t k = lowest; k < factors.size(); k += 2) of_squares.push_back(factors[k]);
  Formula cotangent = dsl::formulas::cosine_of_half_turns(r) / dsl::formulas::sine_of_half_turns(r);
  Formula sum = polynomial(cotangent * cotangent, of_squares);
  if (lowest == 1) sum = sum * cotangent;
  return sum * std::pow(pi, s);
}

// Below 0 by the sum on both sides, less that of the terms in front of q.
Formula zeta(int s, const Formula& q) {
  Formula is_below = q < 0, above = zeta_of_positive(s, choice(is_below, 1 - q, q));
  Formula all = sum_on_both_sides(s, choice(is_below, q - round(q), 0.25));
  Formula value = choice(is_below, s % 2 == 0 ? all - above : all + above, above);
  return choice((q <= 0) & is_integer(q), infinity, value);
}

}  // namespace

Tensor lgamma(const TensorOperand& x) {
  graph::tensor_of(x, "lgamma");
  return graph::computed("lgamma", floating("lgamma", {&x}), [](const Terms& t) {
    return dsl::formulas::log_gamma(t[0].to(DType::f64));
  });
}

Tensor digamma(const TensorOperand& x) {
  graph::tensor_of(x, "digamma");
  return graph::computed("digamma", floating("digamma", {&x}),
                         [](const Terms& t) { return psi(t[0].to(DType::f64)); });
}

Tensor polygamma(std::int64_t n, const TensorOperand& x) {
  constexpr std::int64_t most = 150;  // 151! is near the end of f64
  require(n >= 0 && n <= most, "[polygamma] the order is ", n, "; it must be from 0 to ", most);
  if (n == 0) return digamma(x);
  graph::tensor_of(x, "polygamma");
  return graph::computed("polygamma", floating("polygamma", {&x}),
                         [n](const Terms& t) {
                           Formula wide = t[0].to(DType::f64);
                           const double factor =
                               std::tgamma(static_cast<double>(n + 1)) * (n % 2 == 0 ? -1 : 1);
                           const Formula value = zeta(static_cast<int>(n + 1), wide) * factor;
                           return choice(graph::is_nan(wide), wide, value);
                         },
                         {n});
}

Tensor hurwitz_zeta(const TensorOperand& s, const TensorOperand& q) {
  return graph::computed("hurwitz_zeta", floating("hurwitz_zeta", {&s, &q}), [](const Terms& t) {
    return zeta(t[0].to(DType::f64), t[1].to(DType::f64));
  });
}

Tensor mvlgamma(const TensorOperand& x, std::int64_t p) {
  graph::tensor_of(x, "mvlgamma");
  require(p >= 1 && p <= 1000, "[mvlgamma] p is ", p, " (at ", graph::At{x.where},
          "); 1 to 1000 is wanted");
  const graph::Terms terms = floating("mvlgamma", {&x});
  const Tensor wide = terms[0].tensor().to(DType::f64, x.where);
  const auto count = static_cast<double>(p);
  Tensor sum = full({}, count * (count - 1) / 4 * std::log(pi), DType::f64);
  for (std::int64_t i = 0; i < p; ++i) sum = sum + lgamma(wide - static_cast<double>(i) / 2);
  return sum.to(terms.dtype, x.where);
}

}  // namespace tilewright
