// Rules of elementwise functions of one operand, most of them as in PyTorch's derivatives.yaml. The
// formulas that compute these functions have poor derivatives: they lose digits, and at single
// points they are those of a constant.
#include <cmath>
#include <numbers>

#include "graph/functions/derivatives/rule_tables.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/bessel.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/gamma.h"
#include "graph/functions/pointwise/special.h"

namespace tilewright::graph::rules {

namespace {

using std::numbers::inv_sqrtpi;
using std::numbers::ln10;
using std::numbers::sqrt2;
using X = const Tensor&;

constexpr double root_of_half_pi = sqrt2 / inv_sqrtpi / 2;

// 1 - x^2, with all digits near 1.
Tensor less_square(X x) { return (1.0 - x) * (x + 1.0); }
// The density of the normal distribution.
Tensor bell(X x) { return exp(x * x * -0.5) * (inv_sqrtpi / sqrt2); }
// value / x, and its limit at 0.
Tensor over(X value, X x, double limit) { return where(x == 0.0, limit, value / x); }

Tensor slope_of_sinc(X x, X y) {
  const Tensor near_zero = x * (-pi * pi / 3);
  return where(x == 0.0, near_zero, (cos(x * pi) - y) / where(x == 0.0, 1.0, x));
}

constexpr Rule one_operand_rules[] = {
    {"tan", [](X, X y) { return y * y + 1.0; }},
    {"asin", [](X x, X) { return rsqrt(less_square(x)); }},
    {"acos", [](X x, X) { return -rsqrt(less_square(x)); }},
    {"atan", [](X x, X) { return reciprocal(x * x + 1.0); }},
    {"sinh", [](X x, X) { return cosh(x); }},
    {"cosh", [](X x, X) { return sinh(x); }},
    {"asinh", [](X x, X) { return rsqrt(x * x + 1.0); }},
    {"acosh", [](X x, X) { return rsqrt(x - 1.0) * rsqrt(x + 1.0); }},
    {"atanh", [](X x, X) { return reciprocal(less_square(x)); }},
    {"sinc", slope_of_sinc},
    {"log10", [](X x, X) { return reciprocal(x * ln10); }},
    {"logsigmoid", [](X x, X) { return sigmoid(-x); }},
    {"entr", [](X x, X) { return -log(x) - 1.0; }},

    {"erfc", [](X x, X) { return exp(-x * x) * (-2 * inv_sqrtpi); }},
    {"erfinv", [](X, X y) { return exp(y * y) * (0.5 / inv_sqrtpi); }},
    {"erfcx", [](X x, X y) { return x * y * 2.0 - 2 * inv_sqrtpi; }},
    {"ndtr", [](X x, X) { return bell(x); }},
    {"log_ndtr", [](X x, X) { return reciprocal(erfcx(x * -(1 / sqrt2)) * root_of_half_pi); }},
    {"ndtri", [](X, X y) { return exp(y * y * 0.5) * (2 * root_of_half_pi); }},

    {"lgamma", [](X x, X) { return digamma(x); }},
    {"digamma", [](X x, X) { return polygamma(1, x); }},

    {"i0", [](X x, X) { return i1(x); }},
    {"i1", [](X x, X y) { return i0(x) - over(y, x, 0.5); }},
    {"i0e", [](X x, X y) { return i1e(x) - sign(x) * y; }},
    {"i1e", [](X x, X y) { return i0e(x) - sign(x) * y - over(y, x, 0.5); }},
    {"bessel_j0", [](X x, X) { return -bessel_j1(x); }},
    {"bessel_j1", [](X x, X y) { return bessel_j0(x) - over(y, x, 0.5); }},
    {"bessel_y0", [](X x, X) { return -bessel_y1(x); }},
    {"bessel_y1", [](X x, X y) { return bessel_y0(x) - y / x; }},
    {"modified_bessel_k0", [](X x, X) { return -modified_bessel_k1(x); }},
    {"modified_bessel_k1", [](X x, X y) { return -modified_bessel_k0(x) - y / x; }},
    {"scaled_modified_bessel_k0", [](X x, X y) { return y - scaled_modified_bessel_k1(x); }},
    {"scaled_modified_bessel_k1",
     [](X x, X y) { return y - y / x - scaled_modified_bessel_k0(x); }},
};

}  // namespace

std::span<const Rule> of_one_operand() { return one_operand_rules; }

}  // namespace tilewright::graph::rules
