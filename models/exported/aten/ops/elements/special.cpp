// Operators of torch.special: functions of the gamma function, the error integral and Bessel, and
// orthogonal polynomials.
#include "graph/functions/pointwise/special.h"
#include "graph/functions/pointwise/bessel.h"
#include "graph/functions/pointwise/gamma.h"
#include "graph/functions/special/incomplete_gamma.h"
#include "graph/functions/special/polynomials.h"
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

using OfTwo = Tensor (*)(const TensorOperand&, const TensorOperand&);
template <OfTwo function>
constexpr auto of_self_and_other =
    [](const Call& c) { return function(c.operand("self"), c.operand("other")); };
template <OfTwo polynomial>
constexpr auto of_degree = [](const Call& c) { return polynomial(c.operand("x"), c.operand("n")); };

constexpr Operator rows[] = {
    {"aten.igamma.default", of_self_and_other<igamma>},
    {"aten.igammac.default", of_self_and_other<igammac>},
    {"aten.lgamma.default", of_self<lgamma>},
    {"aten.digamma.default", of_self<digamma>},
    {"aten.polygamma.default",
     [](const Call& c) { return polygamma(c.integer("n"), c.tensor("self")); }},
    {"aten.mvlgamma.default",
     [](const Call& c) { return mvlgamma(c.tensor("self"), c.integer("p")); }},
    {"aten.special_zeta.default", of_self_and_other<hurwitz_zeta>},
    {"aten.special_zeta.self_scalar", of_self_and_other<hurwitz_zeta>},
    {"aten.special_zeta.other_scalar", of_self_and_other<hurwitz_zeta>},
    {"aten.special_entr.default", of_self<entr>},
    {"aten.special_xlog1py.default", of_self_and_other<xlog1py>},
    {"aten.special_xlog1py.self_scalar", of_self_and_other<xlog1py>},
    {"aten.special_xlog1py.other_scalar", of_self_and_other<xlog1py>},
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
    {"aten.special_chebyshev_polynomial_t.default", of_degree<chebyshev_polynomial_t>},
    {"aten.special_chebyshev_polynomial_t.x_scalar", of_degree<chebyshev_polynomial_t>},
    {"aten.special_chebyshev_polynomial_t.n_scalar", of_degree<chebyshev_polynomial_t>},
    {"aten.special_chebyshev_polynomial_u.default", of_degree<chebyshev_polynomial_u>},
    {"aten.special_chebyshev_polynomial_u.x_scalar", of_degree<chebyshev_polynomial_u>},
    {"aten.special_chebyshev_polynomial_u.n_scalar", of_degree<chebyshev_polynomial_u>},
    {"aten.special_chebyshev_polynomial_v.default", of_degree<chebyshev_polynomial_v>},
    {"aten.special_chebyshev_polynomial_v.x_scalar", of_degree<chebyshev_polynomial_v>},
    {"aten.special_chebyshev_polynomial_v.n_scalar", of_degree<chebyshev_polynomial_v>},
    {"aten.special_chebyshev_polynomial_w.default", of_degree<chebyshev_polynomial_w>},
    {"aten.special_chebyshev_polynomial_w.x_scalar", of_degree<chebyshev_polynomial_w>},
    {"aten.special_chebyshev_polynomial_w.n_scalar", of_degree<chebyshev_polynomial_w>},
    {"aten.special_shifted_chebyshev_polynomial_t.default",
     of_degree<shifted_chebyshev_polynomial_t>},
    {"aten.special_shifted_chebyshev_polynomial_t.x_scalar",
     of_degree<shifted_chebyshev_polynomial_t>},
    {"aten.special_shifted_chebyshev_polynomial_t.n_scalar",
     of_degree<shifted_chebyshev_polynomial_t>},
    {"aten.special_shifted_chebyshev_polynomial_u.default",
     of_degree<shifted_chebyshev_polynomial_u>},
    {"aten.special_shifted_chebyshev_polynomial_u.x_scalar",
     of_degree<shifted_chebyshev_polynomial_u>},
    {"aten.special_shifted_chebyshev_polynomial_u.n_scalar",
     of_degree<shifted_chebyshev_polynomial_u>},
    {"aten.special_shifted_chebyshev_polynomial_v.default",
     of_degree<shifted_chebyshev_polynomial_v>},
    {"aten.special_shifted_chebyshev_polynomial_v.x_scalar",
     of_degree<shifted_chebyshev_polynomial_v>},
    {"aten.special_shifted_chebyshev_polynomial_v.n_scalar",
     of_degree<shifted_chebyshev_polynomial_v>},
    {"aten.special_shifted_chebyshev_polynomial_w.default",
     of_degree<shifted_chebyshev_polynomial_w>},
    {"aten.special_shifted_chebyshev_polynomial_w.x_scalar",
     of_degree<shifted_chebyshev_polynomial_w>},
    {"aten.special_shifted_chebyshev_polynomial_w.n_scalar",
     of_degree<shifted_chebyshev_polynomial_w>},
    {"aten.special_hermite_polynomial_h.default", of_degree<hermite_polynomial_h>},
    {"aten.special_hermite_polynomial_h.x_scalar", of_degree<hermite_polynomial_h>},
    {"aten.special_hermite_polynomial_h.n_scalar", of_degree<hermite_polynomial_h>},
    {"aten.special_hermite_polynomial_he.default", of_degree<hermite_polynomial_he>},
    {"aten.special_hermite_polynomial_he.x_scalar", of_degree<hermite_polynomial_he>},
    {"aten.special_hermite_polynomial_he.n_scalar", of_degree<hermite_polynomial_he>},
    {"aten.special_laguerre_polynomial_l.default", of_degree<laguerre_polynomial_l>},
    {"aten.special_laguerre_polynomial_l.x_scalar", of_degree<laguerre_polynomial_l>},
    {"aten.special_laguerre_polynomial_l.n_scalar", of_degree<laguerre_polynomial_l>},
    {"aten.special_legendre_polynomial_p.default", of_degree<legendre_polynomial_p>},
    {"aten.special_legendre_polynomial_p.x_scalar", of_degree<legendre_polynomial_p>},
    {"aten.special_legendre_polynomial_p.n_scalar", of_degree<legendre_polynomial_p>},
};

}  // namespace
}  // namespace special_rows

std::span<const Operator> special_operators() { return special_rows::rows; }

}  // namespace tilewright::exported
