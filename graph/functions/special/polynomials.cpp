#include "graph/functions/special/polynomials.h"

#include "graph/functions/control/control_flow.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

namespace {

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

Tensor in_double(const TensorOperand& operand) {
  return operand.is_number ? full({}, operand.number.as_double(), f64) : operand.tensor.to(f64);
}

Tensor of_degree(const char* name, const TensorOperand& given, const TensorOperand& degree,
                 const Recurrence& r) {
  constexpr double most = 100'000;
  require(!given.is_number || !degree.is_number, "[", name, "] of two numbers (at ",
          At{given.where}, "); a tensor is wanted");
  const DType own = (given.is_number ? degree : given).tensor.dtype();
  DType dtype = is_floating(own) ? own : f32;
  if (!degree.is_number && degree.tensor.dtype() == f64) dtype = f64;
  Tensor x = in_double(given), n = trunc(in_double(degree));
  if (r.is_shifted) x = 2.0 * x - 1.0;
  const Tensor is_too_high = n > most, wanted = where(is_too_high, 0.0, n);
  const Tensor one = ones((x + n).shape(), f64), first = (x * r.a + r.b) * one;
  Tensor value = where(wanted < 0, 0.0, where(wanted == 0, one, first));
  auto goes_on = [&](const Tensors& state) { return any(wanted > state[0]); };
  auto next = [&](const Tensors& state) -> Tensors {
    const Tensor &k = state[0], &before = state[1], &last = state[2];
    Tensor p = ((k * r.c + r.d) * x + (k * r.e + r.f)) * last - (k * r.g + r.h) * before;
    if (r.is_divided) p = p / (k + 1.0);
    return {k + 1.0, last, p, where(wanted > k, p, state[3])};
  };
  const Tensors state = {ones({}, f64), one, first, value};
  value = one.count() == 0 ? value : while_loop(goes_on, next, state, given.where)[3];
  return where(is_too_high, graph::nan, value).to(dtype);
}

}  // namespace

Tensor chebyshev_polynomial_t(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("chebyshev_polynomial_t", x, n, chebyshev(1, 0, false));
}
Tensor chebyshev_polynomial_u(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("chebyshev_polynomial_u", x, n, chebyshev(2, 0, false));
}
Tensor chebyshev_polynomial_v(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("chebyshev_polynomial_v", x, n, chebyshev(2, -1, false));
}
Tensor chebyshev_polynomial_w(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("chebyshev_polynomial_w", x, n, chebyshev(2, 1, false));
}
Tensor shifted_chebyshev_polynomial_t(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("shifted_chebyshev_polynomial_t", x, n, chebyshev(1, 0, true));
}
Tensor shifted_chebyshev_polynomial_u(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("shifted_chebyshev_polynomial_u", x, n, chebyshev(2, 0, true));
}
Tensor shifted_chebyshev_polynomial_v(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("shifted_chebyshev_polynomial_v", x, n, chebyshev(2, -1, true));
}
Tensor shifted_chebyshev_polynomial_w(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("shifted_chebyshev_polynomial_w", x, n, chebyshev(2, 1, true));
}
Tensor hermite_polynomial_h(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("hermite_polynomial_h", x, n, {.a = 2, .b = 0, .d = 2, .g = 2});
}
Tensor hermite_polynomial_he(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("hermite_polynomial_he", x, n, {.a = 1, .b = 0, .d = 1, .g = 1});
}
Tensor laguerre_polynomial_l(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("laguerre_polynomial_l", x, n,
                   {.a = -1, .b = 1, .d = -1, .e = 2, .f = 1, .g = 1, .is_divided = true});
}
Tensor legendre_polynomial_p(const TensorOperand& x, const TensorOperand& n) {
  return of_degree("legendre_polynomial_p", x, n,
                   {.a = 1, .b = 0, .c = 2, .d = 1, .g = 1, .is_divided = true});
}

}  // namespace tilewright
