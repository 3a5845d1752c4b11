#include "graph/functions/pointwise/arithmetic.h"

#include <cmath>
#include <limits>

#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::infinity;
using graph::is_negative;
using graph::negated_where;
using graph::Op;
using graph::promoted;
using graph::Terms;
using graph::widened;
using std::source_location;

namespace {

double largest_of(DType dtype) {
  return std::ldexp(2 - std::ldexp(1.0, 1 - digits(dtype)), exponent_bias(dtype));
}

Formula term_of(const TensorOperand& x, std::string_view name) {
  return {graph::tensor_of(x, name), x.where};
}

void require_factor(const Number& factor, const Formula& term, std::string_view name,
                    std::string_view what) {
  require(term.is_floating() || factor.is_integral(), "[", name, "] ", what, " is ",
          factor.as_double(), ", the operands are ", term.dtype(), " (at ", At{term.where()},
          "); it must be an integer, or the operands floating");
}
bool is_one(const Number& factor) { return factor.as_double() == 1; }
Formula times(const Formula& x, const Number& factor) {
  return is_one(factor) ? x : x * x.number(factor);
}

void require_floating(const Terms& terms, std::string_view name) {
  require(is_floating(terms.dtype), "[", name, "] the operands are ", terms.dtype, " (at ",
          At{terms[0].where()}, "); they must be floating: convert with to(f32)");
}
// As PyTorch wants of functions that do not promote.
void require_one_dtype(std::string_view name, const TensorOperand& a, const TensorOperand& b) {
  if (a.is_number || b.is_number) return;
  DType left = graph::tensor_of(a, name).dtype(), right = graph::tensor_of(b, name).dtype();
  require(left == right, "[", name, "] the operands are ", left, " and ", right, " (at ",
          At{a.where}, "); they must have one dtype: convert with to()");
}

}  // namespace

Tensor add(const TensorOperand& a, const TensorOperand& b, const Number& alpha) {
  if (is_one(alpha)) return a + b;
  Terms terms = widened("add", {&a, &b});
  require_factor(alpha, terms[0], "add", "alpha");
  return graph::computed("add", terms, [&](const Terms& t) { return t[0] + times(t[1], alpha); },
                         {alpha});
}
Tensor sub(const TensorOperand& a, const TensorOperand& b, const Number& alpha) {
  if (is_one(alpha)) return a - b;
  Terms terms = widened("sub", {&a, &b});
  require_factor(alpha, terms[0], "sub", "alpha");
  return graph::computed("sub", terms, [&](const Terms& t) { return t[0] - times(t[1], alpha); },
                         {alpha});
}
Tensor rsub(const TensorOperand& a, const TensorOperand& b, const Number& alpha) {
  return sub({b}, a, alpha);
}
Tensor mul(const TensorOperand& a, const TensorOperand& b) { return a * b; }
Tensor true_divide(const TensorOperand& a, const TensorOperand& b) { return a / b; }
Tensor elementwise_mean(const std::vector<Tensor>& operands, std::source_location w) {
  require(!operands.empty(), "[elementwise_mean] there are no operands (at ", At{w},
          "); there must be at least one");
  return graph::of_user_call("elementwise_mean", w, [&] {
    const DType own = graph::tensor_of({operands[0], w}, "elementwise_mean").dtype();
    Tensor sum = operands[0].to(accumulator(own));
    for (std::size_t i = 1; i < operands.size(); ++i) sum = sum + operands[i];
    return (sum / static_cast<double>(operands.size())).to(own);
  });
}
Tensor positive(const TensorOperand& x) {
  Formula term = term_of(x, "positive");
  require(!is_boolean(term.dtype()), "[positive] the operand is bool (at ", At{x.where},
          "); convert it with to(i32), or to another dtype");
  return term.tensor();
}

Tensor lerp(const TensorOperand& start, const TensorOperand& end, const TensorOperand& weight) {
  require_one_dtype("lerp", start, end);
  require_one_dtype("lerp", start, weight);
  require_floating(promoted("lerp", {&start, &end}), "lerp");
  Terms terms = widened("lerp", {&start, &end, &weight});
  return graph::computed("lerp", terms, [](const Terms& t) {
    const Formula &from = t[0], &to = t[1], &part = t[2];
    Formula way = to - from;
    return choice(abs(part) < 0.5, from + part * way, to - way * (1 - part));
  });
}

Tensor addcmul(const TensorOperand& x, const TensorOperand& a, const TensorOperand& b,
               const Number& value) {
  Terms terms = widened("addcmul", {&x, &a, &b});
  require_factor(value, terms[0], "addcmul", "value");
  return graph::computed("addcmul", terms,
                         [&](const Terms& t) { return t[0] + times(t[1], value) * t[2]; }, {value});
}
Tensor addcdiv(const TensorOperand& x, const TensorOperand& a, const TensorOperand& b,
               const Number& value) {
  Terms terms = widened("addcdiv", {&x, &a, &b});
  require_floating(terms, "addcdiv");
  return graph::computed("addcdiv", terms,
                         [&](const Terms& t) { return t[0] + times(t[1], value) / t[2]; }, {value});
}

namespace {

Formula towards_zero(const Formula& x) { return choice(x < 0, ceil(x), floor(x)); }

}  // namespace

Tensor trunc(const TensorOperand& x) {
  Formula term = term_of(x, "trunc");
  if (is_integer(term.dtype())) return term.tensor().clone(x.where);
  return graph::computed("trunc", widened("trunc", {&x}),
                         [](const Terms& t) { return towards_zero(t[0]); });
}
Tensor frac(const TensorOperand& x) {
  graph::tensor_of(x, "frac");
  Terms terms = widened("frac", {&x});
  require_floating(terms, "frac");
  return graph::computed("frac", terms, [](const Terms& t) { return t[0] - towards_zero(t[0]); });
}
Tensor round(const TensorOperand& x, int decimals) {
  if (decimals == 0) return round(x);
  graph::tensor_of(x, "round");
  Terms terms = widened("round", {&x});
  require_floating(terms, "round");
  auto formula = [&](const Terms& t) {
    double scale = std::pow(10.0, std::abs(decimals));
    return decimals > 0 ? round(t[0] * scale) / scale : round(t[0] / scale) * scale;
  };
  return graph::computed("round", terms, formula, {decimals});
}

Tensor sign(const TensorOperand& x) {
  Formula term = term_of(x, "sign");
  if (is_boolean(term.dtype())) return term.tensor().clone(x.where);
  bool has_sign = term.is_floating() || is_signed(term.dtype());
  return graph::computed("sign", promoted("sign", {&x}), [&](const Terms& t) {
    Formula positive = choice(t[0] > 0, 1, t[0].number(0));
    return has_sign ? choice(t[0] < 0, -1, positive) : positive;
  });
}
Tensor sgn(const TensorOperand& x) { return sign(x); }
Tensor signbit(const TensorOperand& x) { return is_negative(term_of(x, "signbit")).tensor(); }

Tensor copysign(const TensorOperand& a, const TensorOperand& b) {
  return graph::computed("copysign", graph::floating("copysign", {&a, &b}), [](const Terms& t) {
    return negated_where(is_negative(t[1]), abs(t[0]));
  });
}

Tensor heaviside(const TensorOperand& x, const TensorOperand& values) {
  require_one_dtype("heaviside", x, values);
  Terms terms = promoted("heaviside", {&x, &values});
  return graph::computed("heaviside", terms, [](const Terms& t) {
    return choice(t[0] == 0, t[1], (t[0] > 0).to(t.dtype));
  });
}

namespace {

// Constants for finding the next number of a dtype.
struct Spacing {
  double least, steady;  // the least number, and below which all are multiples of it
  double most;
  double half;  // of the step behind 1, and the least bit more
  explicit Spacing(DType dtype)
      : least(std::ldexp(1.0, 2 - exponent_bias(dtype) - digits(dtype))),
        steady(std::ldexp(1.0, 2 - exponent_bias(dtype))),
        most(largest_of(dtype)),
        half(std::ldexp(1 + std::ldexp(1.0, 1 - digits(dtype)), -digits(dtype))) {}
};

// A sum with a little more than half of the least difference is rounded to the next number, above
// and below (Rump, Zimmermann, Boldo, Melquiond: Computing predecessor and successor in rounding to
// nearest). Numbers below 1 are scaled, so that the difference keeps its digits.
Formula next_number(const Terms& terms) {
  const Formula &x = terms[0], &to = terms[1];
  const Spacing spacing(terms.dtype);
  constexpr double scale = 0x1p64;
  auto rounded = [&](const Formula& sum) { return sum.to(terms.dtype).to(sum.dtype()); };
  Formula is_up = to > x, magnitude = abs(x), is_small = magnitude < 1;
  Formula scaled = choice(is_small, x * scale, x), half = abs(scaled) * spacing.half;
  Formula beside = rounded(scaled + choice(is_up, half, -half));
  Formula next = choice(is_small, beside * (1 / scale), beside);
  Formula least = choice(is_up, spacing.least, x.number(-spacing.least));
  next = choice(magnitude < spacing.steady, x + least, next);
  next = choice(magnitude == infinity, negated_where(x < 0, x.number(spacing.most)), next);
  next = choice((next == 0) & (x < 0), -0.0, next);
  next = choice(to == x, to, next);
  return choice(is_nan(x) | is_nan(to), x + to, next);
}

}  // namespace

Tensor nextafter(const TensorOperand& a, const TensorOperand& b) {
  Terms terms = widened("nextafter", {&a, &b});
  require_floating(terms, "nextafter");
  return graph::computed("nextafter", terms, next_number);
}

Tensor isnan(const TensorOperand& x) { return is_nan(term_of(x, "isnan")).tensor(); }
Tensor isinf(const TensorOperand& x) { return is_infinite(term_of(x, "isinf")).tensor(); }
Tensor isfinite(const TensorOperand& x) {
  Formula term = term_of(x, "isfinite");
  return (term.is_floating() ? abs(term) < infinity : !is_nan(term)).tensor();
}
Tensor isposinf(const TensorOperand& x) {
  Formula term = term_of(x, "isposinf");
  return (term.is_floating() ? term == infinity : is_infinite(term)).tensor();
}
Tensor isneginf(const TensorOperand& x) {
  Formula term = term_of(x, "isneginf");
  return (term.is_floating() ? term == -infinity : is_infinite(term)).tensor();
}

Tensor eq(const TensorOperand& a, const TensorOperand& b) { return a == b; }
Tensor ne(const TensorOperand& a, const TensorOperand& b) { return a != b; }
Tensor lt(const TensorOperand& a, const TensorOperand& b) { return a < b; }
Tensor le(const TensorOperand& a, const TensorOperand& b) { return a <= b; }
Tensor gt(const TensorOperand& a, const TensorOperand& b) { return a > b; }
Tensor ge(const TensorOperand& a, const TensorOperand& b) { return a >= b; }

static bool read_of_all(const Tensor& flags, std::source_location w) {
  return all({flags, w}).item<bool>(w);
}
bool allclose(const TensorOperand& a, const TensorOperand& b, const CloseOptions& options) {
  const graph::UserCall call("allclose", a.where);
  return read_of_all(isclose(a, b, options), a.where);
}
bool equal(const TensorOperand& a, const TensorOperand& b) {
  const graph::UserCall call("equal", a.where);
  const Tensor &x = graph::tensor_of(a, "equal"), &y = graph::tensor_of(b, "equal");
  return x.shape() == y.shape() && read_of_all(a == b, a.where);
}

Tensor isclose(const TensorOperand& a, const TensorOperand& b, const CloseOptions& options) {
  require_one_dtype("isclose", a, b);
  require(options.rtol >= 0 && options.atol >= 0, "[isclose] rtol is ", options.rtol, ", atol is ",
          options.atol, " (at ", At{a.where}, "); neither may be negative");
  Terms exact = promoted("isclose", {&a, &b});
  Formula close = exact[0] == exact[1];
  if (options.equal_nan) close = close | (is_nan(exact[0]) & is_nan(exact[1]));
  if (options.rtol == 0 && options.atol == 0) return close.tensor();
  DType dtype = is_floating(exact.dtype) ? exact.dtype : DType::f32;
  Formula x = exact[0].to(dtype), y = exact[1].to(dtype), distance = abs(x - y);
  Formula allowed = abs(y * options.rtol) + options.atol;
  return (close | ((distance < infinity) & (distance <= allowed))).tensor();
}

Tensor isin(const TensorOperand& x, const TensorOperand& values, bool invert) {
  source_location w = x.where;
  if (values.is_number) return invert ? x != values : x == values;
  auto reshaped = [&](const Tensor& t, const Shape& sizes) {
    return TensorOperand(graph::reshape_operand(t, sizes, w), w);
  };
  const Shape shape = x.is_number ? Shape{} : graph::tensor_of(x, "isin").shape();
  Shape aside = shape;
  aside.push_back(1);
  TensorOperand each = x.is_number ? x : reshaped(x.tensor, aside);
  const Tensor& all = graph::tensor_of(values, "isin");
  TensorOperand row = reshaped(all, {all.count()});
  Terms terms = promoted("isin", {&each, &row});
  terms.dtype = DType::boolean;
  auto formula = [&](const Terms& t) {
    Formula among(any({(t[0] == t[1]).tensor(), w}, {-1}), w);
    return invert ? !among : among;
  };
  return graph::computed("isin", terms, formula, {invert}).reshape(shape, w);
}

Tensor clamp_min(const TensorOperand& x, const TensorOperand& least) { return clamp(x, least, {}); }
Tensor clamp_max(const TensorOperand& x, const TensorOperand& most) { return clamp(x, {}, most); }

namespace {

Tensor extremum_of_numbers(std::string_view name, Op op, const TensorOperand& a,
                           const TensorOperand& b) {
  Terms terms = promoted(name, {&a, &b});
  Formula extremum = terms[0].make(op, terms[1]);
  if (!is_floating(terms.dtype)) return extremum.tensor();
  return choice(is_nan(terms[1]), terms[0], choice(is_nan(terms[0]), terms[1], extremum)).tensor();
}

}  // namespace

Tensor fmax(const TensorOperand& a, const TensorOperand& b) {
  return extremum_of_numbers("fmax", Op::maximum, a, b);
}
Tensor fmin(const TensorOperand& a, const TensorOperand& b) {
  return extremum_of_numbers("fmin", Op::minimum, a, b);
}

Tensor nan_to_num(const TensorOperand& x, const NanToNumOptions& options) {
  Formula term = term_of(x, "nan_to_num");
  if (!term.is_floating()) return term.tensor().clone(x.where);
  double largest = largest_of(term.dtype());
  Formula finite = choice(term == infinity, options.posinf.value_or(largest), term);
  finite = choice(term == -infinity, options.neginf.value_or(-largest), finite);
  return choice(is_nan(term), options.nan, finite).tensor();
}

Tensor bitwise_not(const TensorOperand& x) {
  Formula term = term_of(x, "bitwise_not");
  if (is_boolean(term.dtype())) return (!term).tensor();
  return term.make(Op::bitwise_xor, term.number(-1)).tensor();
}
Tensor bitwise_left_shift(const TensorOperand& a, const TensorOperand& b) {
  return shift_left(a, b);
}
Tensor bitwise_right_shift(const TensorOperand& a, const TensorOperand& b) {
  return shift_right(a, b);
}
Tensor logical_xor(const TensorOperand& a, const TensorOperand& b) {
  Terms terms = promoted("logical_xor", {&a, &b});
  return ((terms[0] != 0) != (terms[1] != 0)).tensor();
}

namespace {

// Euclid's algorithm for as many steps as two numbers of the width can need: Fibonacci's take
// longest, of which 1.44 times the bits fit. A divisor of 0 ends it.
Formula common_divisor(const Formula& x, const Formula& y) {
  Formula a = x, b = y;
  const int steps = bit_width(x.dtype()) * 144 / 100 + 2;
  for (int i = 0; i < steps; ++i) {
    Formula next = choice(b == 0, 0, a.make(Op::fmod, b));
    a = choice(b == 0, a, b);
    b = next;
  }
  return is_signed(a.dtype()) ? abs(a) : a;
}
Terms integers(std::string_view name, const TensorOperand& a, const TensorOperand& b) {
  Terms terms = promoted(name, {&a, &b});
  require(is_integer(terms.dtype), "[", name, "] the operands are ", terms.dtype, " (at ",
          At{a.where}, "); they must be integers");
  return terms;
}

}  // namespace

Tensor gcd(const TensorOperand& a, const TensorOperand& b) {
  return graph::computed("gcd", integers("gcd", a, b),
                         [](const Terms& t) { return common_divisor(t[0], t[1]); });
}
Tensor lcm(const TensorOperand& a, const TensorOperand& b) {
  return graph::computed("lcm", integers("lcm", a, b), [](const Terms& t) {
    Formula multiple = t[0] / common_divisor(t[0], t[1]) * t[1];  // by 0 a quotient is 0
    return is_signed(t.dtype) ? abs(multiple) : multiple;
  });
}

}  // namespace tilewright
