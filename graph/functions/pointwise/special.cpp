#include "graph/functions/pointwise/special.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "dsl/math/error_integral.h"
#include "graph/functions/pointwise/chebyshev.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/functions/pointwise/scaled_bessel.h"
#include "graph/tensor/functional.h"

namespace tilewright {

namespace formulas = dsl::formulas;
using graph::chebyshev;
using graph::choice;
using graph::floating;
using graph::Formula;
using graph::infinity;
using graph::Terms;

namespace {}  // namespace

Tensor erfc(const TensorOperand& x) {
  graph::tensor_of(x, "erfc");
  return graph::computed("erfc", floating("erfc", {&x}),
                         [](const Terms& t) { return formulas::complement(t[0]); });
}

namespace {

Formula log_of_normal_integral(const Formula& x) {
  Formula low = choice(x < -1, x, -1.0), high = choice(x < -1, -1.0, x);
  Formula below =
      log(formulas::scaled_complement(-low * formulas::root_half) * 0.5) - low * low * 0.5;
  return choice(x < -1, below, log1p(formulas::complement(high * formulas::root_half) * -0.5));
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

Tensor erfcx(const TensorOperand& x) {
  return in_double("erfcx", x, formulas::scaled_complement<Formula>);
}
Tensor ndtr(const TensorOperand& x) {
  return in_double("ndtr", x, [](const Formula& t) {
    return formulas::complement(-t * formulas::root_half) * 0.5;
  });
}
Tensor log_ndtr(const TensorOperand& x) { return in_double("log_ndtr", x, log_of_normal_integral); }
Tensor ndtri(const TensorOperand& p) {
  return in_double("ndtri", p, formulas::normal_quantile<Formula>);
}

Tensor erfinv(const TensorOperand& x) {
  graph::tensor_of(x, "erfinv");
  return graph::computed("erfinv", floating("erfinv", {&x}),
                         [](const Terms& t) { return formulas::erfinv(t[0]); });
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

Tensor entr(const TensorOperand& x) {
  graph::tensor_of(x, "entr");
  return graph::computed("entr", floating("entr", {&x}), [](const Terms& t) {
    const Formula& e = t[0];
    Formula value = choice(e == 0, 0, -(e * log(e)));
    return choice(graph::is_nan(e), e, choice(e < 0, -infinity, value));
  });
}
Tensor xlog1py(const TensorOperand& x, const TensorOperand& y) {
  return graph::computed("xlog1py", floating("xlog1py", {&x, &y}), [](const Terms& t) {
    const Formula logarithm = log1p(t[1]);
    return choice((t[0] == 0) & !graph::is_nan(t[1]), 0, t[0] * logarithm);
  });
}

}  // namespace tilewright
