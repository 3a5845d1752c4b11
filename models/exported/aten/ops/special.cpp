// Operators of torch.special: functions of the gamma function, the error integral and Bessel, and
// orthogonal polynomials.
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/bessel.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/gamma.h"
#include "graph/functions/pointwise/special.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace special_rows {
namespace {

using Function = Tensor (*)(const TensorOperand& x);
template <Function function>
constexpr auto of_self = [](const Call& c) { return function(c.tensor("self")); };
template <Function function>
constexpr auto of_x = [](const Call& c) { return function(c.tensor("x")); };

Tensor floats(const Tensor& x) { return is_floating(x.dtype()) ? x : x.to(f32); }

// -x log x, and -inf below 0.
Tensor entropy(const Call& call) {
  Tensor x = floats(call.tensor("self"));
  Tensor value = where(x == 0, 0.0, -x * log(x));
  return where(isnan(x), x, where(x < 0, -std::numeric_limits<double>::infinity(), value));
}

// x log(1 + y), and 0 where x is, unless y is NaN.
Tensor x_log1p_y(const Call& call) {
  TensorOperand x = call.operand("self"), y = call.operand("other");
  if (!y.is_number) y = TensorOperand(floats(call.tensor("other")));
  Tensor logarithm = y.is_number ? full({}, std::log1p(y.number.as_double())) : log1p(y.tensor);
  Tensor product = x * logarithm;
  Tensor is_none = isnan(logarithm);
  if (!y.is_number) is_none = isnan(y.tensor);
  Tensor is_zero =
      x.is_number ? full({}, x.number.as_double() == 0, DType::boolean) : x.tensor == 0;
  return where(logical_and(is_zero, logical_not(is_none)), 0.0, product);
}

Tensor zeta_of(const Call& call) {
  return hurwitz_zeta(call.operand("self"), call.operand("other"));
}

// The product of gamma functions half a step apart.
Tensor gamma_of_several(const Call& call) {
  Tensor x = floats(call.tensor("self"));
  const std::int64_t p = call.integer("p");
  if (p < 1 || p > 1000) call.refuse("p", concat("is ", p, "; 1 to 1000 is wanted"));
  Tensor wide = x.to(f64);
  const auto count = static_cast<double>(p);
  Tensor sum = full({}, count * (count - 1) / 4 * std::log(std::numbers::pi), f64);
  for (std::int64_t i = 0; i < p; ++i) sum = sum + lgamma(wide - static_cast<double>(i) / 2);
  return sum.to(x.dtype());
}

// Polynomials by their recurrence: p0 = 1, p1 = a x + b, and with k from 1 on
//   p(k + 1) = ((c k + d) x + (e k + f)) p(k) - (g k + h) p(k - 1), over k + 1 where `is_divided`.
struct Recurrence {
  double a, b;
  double c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  bool is_divided = false;
  bool is_shifted = false;  // of 2 x - 1
};
constexpr Recurrence chebyshev(double a, double b, bool is_shifted) {
  return {.a = a, .b = b, .d = 2, .h = 1, .is_shifted = is_shifted};
}

Tensor tensor_of(const TensorOperand& operand) {
  return operand.is_number ? full({}, operand.number.as_double(), f64) : operand.tensor.to(f64);
}

// Computed in f64. Degrees are rounded towards 0; below 0 the result is 0, as PyTorch has it, and
// beyond 100,000 NaN.
template <typename Family>
Tensor of_degree(const Call& call, const Family& r) {
  constexpr double most = 100'000;
  TensorOperand given = call.operand("x"), degree = call.operand("n");
  DType dtype = given.is_number ? floats(degree.tensor).dtype() : floats(given.tensor).dtype();
  if (!degree.is_number && degree.tensor.dtype() == f64) dtype = f64;
  Tensor x = tensor_of(given), n = trunc(tensor_of(degree));
  if (r.is_shifted) x = 2.0 * x - 1.0;
  Tensor is_too_high = n > most, wanted = where(is_too_high, 0.0, n);
  Tensor one = ones((x + n).shape(), f64), first = (x * r.a + r.b) * one;
  Tensor value = where(wanted < 0, 0.0, where(wanted == 0, one, first));
  auto goes_on = [&](const Tensors& state) { return any(wanted > state[0]); };
  auto next = [&](const Tensors& state) -> Tensors {
    const Tensor &k = state[0], &before = state[1], &last = state[2];
    Tensor p = ((k * r.c + r.d) * x + (k * r.e + r.f)) * last - (k * r.g + r.h) * before;
    if (r.is_divided) p = p / (k + 1.0);
    return {k + 1.0, last, p, where(wanted > k, p, state[3])};
  };
  Tensors state = {ones({}, f64), one, first, value};
  value = one.count() == 0 ? value : while_loop(goes_on, next, state)[3];
  return where(is_too_high, std::numeric_limits<double>::quiet_NaN(), value).to(dtype);
}

constexpr auto chebyshev_t = [](const Call& c) { return of_degree(c, chebyshev(1, 0, false)); };
constexpr auto chebyshev_u = [](const Call& c) { return of_degree(c, chebyshev(2, 0, false)); };
constexpr auto chebyshev_v = [](const Call& c) { return of_degree(c, chebyshev(2, -1, false)); };
constexpr auto chebyshev_w = [](const Call& c) { return of_degree(c, chebyshev(2, 1, false)); };
constexpr auto shifted_t = [](const Call& c) { return of_degree(c, chebyshev(1, 0, true)); };
constexpr auto shifted_u = [](const Call& c) { return of_degree(c, chebyshev(2, 0, true)); };
constexpr auto shifted_v = [](const Call& c) { return of_degree(c, chebyshev(2, -1, true)); };
constexpr auto shifted_w = [](const Call& c) { return of_degree(c, chebyshev(2, 1, true)); };
constexpr auto hermite_h = [](const Call& c) {
  return of_degree(c, Recurrence{.a = 2, .b = 0, .d = 2, .g = 2});
};
constexpr auto hermite_he = [](const Call& c) {
  return of_degree(c, Recurrence{.a = 1, .b = 0, .d = 1, .g = 1});
};
constexpr auto laguerre_l = [](const Call& c) {
  return of_degree(
      c, Recurrence{.a = -1, .b = 1, .d = -1, .e = 2, .f = 1, .g = 1, .is_divided = true});
};
constexpr auto legendre_p = [](const Call& c) {
  return of_degree(c, Recurrence{.a = 1, .b = 0, .c = 2, .d = 1, .g = 1, .is_divided = true});
};

constexpr Operator rows[] = {
    {"aten.lgamma.default", of_self<lgamma>},
    {"aten.digamma.default", of_self<digamma>},
    {"aten.polygamma.default",
     [](const Call& c) { return polygamma(c.integer("n"), c.tensor("self")); }},
    {"aten.mvlgamma.default", by<gamma_of_several>},
    {"aten.special_zeta.default", by<zeta_of>},
    {"aten.special_zeta.self_scalar", by<zeta_of>},
    {"aten.special_zeta.other_scalar", by<zeta_of>},
    {"aten.special_entr.default", by<entropy>},
    {"aten.special_xlog1py.default", by<x_log1p_y>},
    {"aten.special_xlog1py.self_scalar", by<x_log1p_y>},
    {"aten.special_xlog1py.other_scalar", by<x_log1p_y>},
    {"aten.special_erfcx.default", of_self<erfcx>},
    {"aten.special_ndtr.default", of_self<ndtr>},
    {"aten.special_ndtri.default", of_self<ndtri>},
    {"aten.special_log_ndtr.default", of_self<log_ndtr>},
    {"aten.special_i0e.default", of_self<i0e>},
    {"aten.special_i1.default", of_self<i1>},
    {"aten.special_i1e.default", of_self<i1e>},
    {"aten.special_bessel_j0.default", of_self<bessel_j0>},
    {"aten.special_bessel_j1.default", of_self<bessel_j1>},
    {"aten.special_bessel_y0.default", of_self<bessel_y0>},
    {"aten.special_bessel_y1.default", of_self<bessel_y1>},
    {"aten.special_spherical_bessel_j0.default", of_x<spherical_bessel_j0>},
    {"aten.special_modified_bessel_k0.default", of_self<modified_bessel_k0>},
    {"aten.special_modified_bessel_k1.default", of_self<modified_bessel_k1>},
    {"aten.special_scaled_modified_bessel_k0.default", of_x<scaled_modified_bessel_k0>},
    {"aten.special_scaled_modified_bessel_k1.default", of_x<scaled_modified_bessel_k1>},
    {"aten.special_airy_ai.default", of_x<airy_ai>},
    {"aten.special_chebyshev_polynomial_t.default", chebyshev_t},
    {"aten.special_chebyshev_polynomial_t.x_scalar", chebyshev_t},
    {"aten.special_chebyshev_polynomial_t.n_scalar", chebyshev_t},
    {"aten.special_chebyshev_polynomial_u.default", chebyshev_u},
    {"aten.special_chebyshev_polynomial_u.x_scalar", chebyshev_u},
    {"aten.special_chebyshev_polynomial_u.n_scalar", chebyshev_u},
    {"aten.special_chebyshev_polynomial_v.default", chebyshev_v},
    {"aten.special_chebyshev_polynomial_v.x_scalar", chebyshev_v},
    {"aten.special_chebyshev_polynomial_v.n_scalar", chebyshev_v},
    {"aten.special_chebyshev_polynomial_w.default", chebyshev_w},
    {"aten.special_chebyshev_polynomial_w.x_scalar", chebyshev_w},
    {"aten.special_chebyshev_polynomial_w.n_scalar", chebyshev_w},
    {"aten.special_shifted_chebyshev_polynomial_t.default", shifted_t},
    {"aten.special_shifted_chebyshev_polynomial_t.x_scalar", shifted_t},
    {"aten.special_shifted_chebyshev_polynomial_t.n_scalar", shifted_t},
    {"aten.special_shifted_chebyshev_polynomial_u.default", shifted_u},
    {"aten.special_shifted_chebyshev_polynomial_u.x_scalar", shifted_u},
    {"aten.special_shifted_chebyshev_polynomial_u.n_scalar", shifted_u},
    {"aten.special_shifted_chebyshev_polynomial_v.default", shifted_v},
    {"aten.special_shifted_chebyshev_polynomial_v.x_scalar", shifted_v},
    {"aten.special_shifted_chebyshev_polynomial_v.n_scalar", shifted_v},
    {"aten.special_shifted_chebyshev_polynomial_w.default", shifted_w},
    {"aten.special_shifted_chebyshev_polynomial_w.x_scalar", shifted_w},
    {"aten.special_shifted_chebyshev_polynomial_w.n_scalar", shifted_w},
    {"aten.special_hermite_polynomial_h.default", hermite_h},
    {"aten.special_hermite_polynomial_h.x_scalar", hermite_h},
    {"aten.special_hermite_polynomial_h.n_scalar", hermite_h},
    {"aten.special_hermite_polynomial_he.default", hermite_he},
    {"aten.special_hermite_polynomial_he.x_scalar", hermite_he},
    {"aten.special_hermite_polynomial_he.n_scalar", hermite_he},
    {"aten.special_laguerre_polynomial_l.default", laguerre_l},
    {"aten.special_laguerre_polynomial_l.x_scalar", laguerre_l},
    {"aten.special_laguerre_polynomial_l.n_scalar", laguerre_l},
    {"aten.special_legendre_polynomial_p.default", legendre_p},
    {"aten.special_legendre_polynomial_p.x_scalar", legendre_p},
    {"aten.special_legendre_polynomial_p.n_scalar", legendre_p},
};

}  // namespace
}  // namespace special_rows

std::span<const Operator> special_operators() { return special_rows::rows; }

}  // namespace tilewright::exported
