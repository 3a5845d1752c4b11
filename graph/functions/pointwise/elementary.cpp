#include "graph/functions/pointwise/elementary.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "dsl/math/angles.h"
#include "dsl/math/hyperbolic.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace formulas = dsl::formulas;
using graph::choice;
using graph::floating;
using graph::Formula;
using graph::nan;
using graph::pi;
using graph::Terms;

namespace {

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

Tensor asin(const TensorOperand& x) { return function_of("asin", x, formulas::asin<Formula>); }

Tensor acos(const TensorOperand& x) { return function_of("acos", x, formulas::acos<Formula>); }

Tensor atan(const TensorOperand& x) { return function_of("atan", x, formulas::atan<Formula>); }

Tensor atan2(const TensorOperand& y, const TensorOperand& x) {
  return graph::computed("atan2", floating("atan2", {&y, &x}),
                         [](const Terms& t) { return formulas::atan2(t[0], t[1]); });
}

Tensor sinh(const TensorOperand& x) { return function_of("sinh", x, formulas::sinh<Formula>); }
Tensor cosh(const TensorOperand& x) { return function_of("cosh", x, formulas::cosh<Formula>); }

Tensor asinh(const TensorOperand& x) { return function_of("asinh", x, formulas::asinh<Formula>); }
Tensor acosh(const TensorOperand& x) { return function_of("acosh", x, formulas::acosh<Formula>); }
Tensor atanh(const TensorOperand& x) { return function_of("atanh", x, formulas::atanh<Formula>); }

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
  return graph::computed("hypot", floating("hypot", {&a, &b}),
                         [](const Terms& t) { return formulas::hypot(t[0], t[1]); });
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
  return graph::computed("logit", floating("logit", {&x}), formula, {eps.value_or(nan)});
}

Tensor angle(const TensorOperand& x) {
  graph::tensor_of(x, "angle");
  return graph::computed("angle", floating("angle", {&x}), [](const Terms& t) {
    return choice(is_nan(t[0]), t[0], choice(t[0] < 0, pi, t[0].number(0)));
  });
}

// Scaling by powers of two is exact; numbers without a full significand are scaled up before.
std::pair<Tensor, Tensor> frexp(const TensorOperand& operand) {
  const Tensor& given = graph::tensor_of(operand, "frexp");
  require(is_floating(given.dtype()), "[frexp] the operand is ", given.dtype(), " (at ",
          graph::At{operand.where}, "); it must be floating: convert with to(f32)");
  const Tensor x = given.dtype() == DType::f64 ? given : given.to(DType::f32);
  const int digits_up = x.dtype() == DType::f64 ? 64 : 32;
  const double least = x.dtype() == DType::f64 ? 0x1p-1000 : 0x1p-100;
  const Tensor is_usual = logical_and(isfinite(x), x != 0), is_small = abs(x) < least;
  const Tensor a = where(is_usual, abs(where(is_small, x * std::ldexp(1.0, digits_up), x)), 0.5);
  Tensor e = floor(log2(a)) + 1.0;
  const Tensor half = floor(e / 2.0);
  Tensor m = a * exp2(-half) * exp2(half - e);
  // By one more or less where the logarithm was rounded over an integer.
  const Tensor is_over = m >= 1.0, is_under = m < 0.5;
  m = where(is_over, m / 2.0, where(is_under, m * 2.0, m));
  e = where(is_over, e + 1.0, where(is_under, e - 1.0, e));
  e = where(is_small, e - static_cast<double>(digits_up), e);
  return {where(is_usual, copysign(m, x), x).to(given.dtype()),
          where(is_usual, e, 0.0).to(DType::i32)};
}

}  // namespace tilewright
