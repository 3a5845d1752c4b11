#include "graph/functions/special/incomplete_gamma.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/gamma.h"
#include "graph/functions/pointwise/special.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::infinity;
using graph::nan;

namespace {

struct Both {
  Tensor lower, upper;  // P and Q
};

// Of the expansion (N. Temme, The asymptotic expansion of the incomplete gamma functions, 1979;
// the recurrence is that of DLMF 8.12): rows by powers of 1 / a, of powers of eta.
constexpr std::size_t rows_of_series = 10, terms_of_series = 20;
using Series = std::array<std::array<double, terms_of_series>, rows_of_series>;
const Series& series() {
  static const Series table = [] {
    constexpr std::size_t all = terms_of_series + 2 * rows_of_series;
    std::array<double, all + 3> alpha = {0, 1, 1.0 / 3, 1.0 / 36};
    for (std::size_t n = 4; n < alpha.size(); ++n) {
      double sum = 0;
      for (std::size_t j = 2; j < n; ++j)
        sum += static_cast<double>(j) * alpha[j] * alpha[n - j + 1];
      alpha[n] = (alpha[n - 1] - sum) / static_cast<double>(n + 1);
    }
    std::array<double, all> first = {-1.0 / 3};
    for (std::size_t n = 1; n < all; ++n) first[n] = static_cast<double>(n + 2) * alpha[n + 2];
    Series rows = {};
    std::array<double, all> row = first;
    double odd = 1, sign = 1;  // 1 3 5 .. (2 k + 1)
    for (std::size_t k = 0; k < rows_of_series; ++k) {
      std::copy_n(row.begin(), terms_of_series, rows[k].begin());
      odd *= static_cast<double>(2 * k + 3);
      sign = -sign;
      const double factor = sign * odd * alpha[2 * k + 3];
      for (std::size_t n = 0; n + 2 < all - 2 * k; ++n)
        row[n] = factor * first[n] + static_cast<double>(n + 2) * row[n + 2];
    }
    return rows;
  }();
  return table;
}

// For a of at least 50 and x within 0.3 a of it, where rows and terms that are left out are
// nothing.
Both of_great(const Tensor& a, const Tensor& x) {
  const Tensor mu = (x - a) / a, s = mu / (mu + 2.0), square = s * s;
  // mu - log(1 + mu), by the series of atanh s.
  Tensor sum = zeros(s.shape(), f64);
  for (int j = 11; j >= 0; --j) sum = sum * square + 1.0 / (2 * j + 3);
  const Tensor half = s * mu - 2.0 * s * square * sum;
  const Tensor eta = copysign(sqrt(2.0 * half), mu);
  Tensor rest = zeros(s.shape(), f64);
  for (std::size_t k = rows_of_series; k-- > 0;) {
    Tensor row = zeros(s.shape(), f64);
    for (std::size_t n = terms_of_series - std::min<std::size_t>(2 * k, 14); n-- > 0;)
      row = row * eta + series()[k][n];
    rest = rest / a + row;
  }
  rest = rest * exp(-a * half) / sqrt(2 * std::numbers::pi * a);
  const Tensor angle = eta * sqrt(a * 0.5);
  return {0.5 * erfc(-angle) - rest, 0.5 * erfc(angle) + rest};
}

// One loop for both: the series of P where x is below a + 1, else Lentz's form of the continued
// fraction of Q.
Both of_others(const Tensor& a, const Tensor& x) {
  constexpr double least = 1e-300, enough = 1e-15, most_turns = 500;
  const Tensor is_below = x < a + 1.0;
  const Tensor start = x + 1.0 - a;
  auto kept_from_zero = [&](const Tensor& t) { return where(abs(t) < least, least, t); };
  // Turn, term and sum; b, c, d and the fraction; what is not done.
  const Tensor d = 1.0 / kept_from_zero(start);
  const Tensors state = {zeros({}, f64),
                         1.0 / a,
                         1.0 / a,
                         start,
                         full(x.shape(), 1 / least, f64),
                         d,
                         d,
                         ones(x.shape(), DType::boolean)};
  auto goes_on = [&](const Tensors& t) { return logical_and(t[0] < most_turns, any(t[7])); };
  auto next = [&](const Tensors& t) -> Tensors {
    const Tensor i = t[0] + 1.0;
    const Tensor term = t[1] * x / (a + i), sum = t[2] + term;
    const Tensor numerator = i * (a - i), b = t[3] + 2.0;
    const Tensor d = 1.0 / kept_from_zero(numerator * t[5] + b);
    const Tensor c = kept_from_zero(b + numerator / t[4]), change = c * d;
    const Tensor goes_on = where(is_below, term > enough * sum, abs(change - 1.0) > enough);
    return {i, term, sum, b, c, d, t[6] * change, goes_on};
  };
  const Tensors last = x.count() == 0 ? state : while_loop(goes_on, next, state);
  const Tensor factor = exp(a * log(x) - x - lgamma(a));
  const Tensor lower = factor * last[2], upper = factor * last[6];
  return {where(is_below, lower, 1.0 - upper), where(is_below, 1.0 - lower, upper)};
}

Both incomplete_gamma(const Tensor& a, const Tensor& x) {
  constexpr double least_great = 50, most_distance = 0.3;
  const Tensor is_usual =
      logical_and(logical_and(a > 0.0, isfinite(a)), logical_and(x > 0.0, isfinite(x)));
  const Tensor is_great =
      logical_and(is_usual, logical_and(a >= least_great, abs(x - a) < most_distance * a));
  // Elements that another formula is for have numbers that are soon done.
  const Both great = of_great(where(is_great, a, 100.0), where(is_great, x, 100.0));
  const Tensor is_other = logical_and(is_usual, logical_not(is_great));
  const Both other = of_others(where(is_other, a, 1.0), where(is_other, x, 1.0));
  // As PyTorch has them, which looks at one argument after the other.
  const Tensor is_negative = logical_or(a < 0.0, x < 0.0);
  auto chosen = [&](const Tensor& of_great, const Tensor& of_other, double one, double nothing) {
    const Tensor usual = where(is_great, of_great, where(is_other, of_other, nan));
    const Tensor of_infinite =
        where(a == infinity, where(x == infinity, nan, nothing), where(x == infinity, one, usual));
    const Tensor of_zero =
        where(a == 0.0, where(x > 0.0, one, nan), where(x == 0.0, nothing, of_infinite));
    return where(is_negative, nan, of_zero);
  };
  return {chosen(great.lower, other.lower, 1, 0), chosen(great.upper, other.upper, 0, 1)};
}

// The result has the dtype that both operands are promoted to, or f32.
template <Tensor Both::*part>
Tensors incomplete_gamma_body(const graph::FunctionCall& call) {
  const Tensor &a = call[0], &x = call[1];
  const DType dtype = promote(a.dtype(), x.dtype());
  const Shape shape = *broadcast_shapes(a.shape(), x.shape());
  const Both both = incomplete_gamma(a.to(f64).expand(shape), x.to(f64).expand(shape));
  return {(both.*part).to(is_floating(dtype) ? dtype : f32)};
}

Tensor called(const graph::NamedFunction& function, const TensorOperand& a,
              const TensorOperand& x) {
  const std::string_view name = function.name();
  const Tensor &first = graph::tensor_of(a, name), &second = graph::tensor_of(x, name);
  require(broadcast_shapes(first.shape(), second.shape()).has_value(), "[", name,
          "] the operands are [", first.shape(), "] and [", second.shape(), "] (at ", At{a.where},
          "); they must broadcast");
  return function({first, second}, {}, a.where)[0];
}

}  // namespace

namespace graph::named {
extern const NamedFunction igamma_function;
const NamedFunction igamma_function("igamma", incomplete_gamma_body<&Both::lower>);
extern const NamedFunction igammac_function;
const NamedFunction igammac_function("igammac", incomplete_gamma_body<&Both::upper>);
}  // namespace graph::named

Tensor igamma(const TensorOperand& a, const TensorOperand& x) {
  return called(graph::named::igamma_function, a, x);
}
Tensor igammac(const TensorOperand& a, const TensorOperand& x) {
  return called(graph::named::igammac_function, a, x);
}

}  // namespace tilewright
