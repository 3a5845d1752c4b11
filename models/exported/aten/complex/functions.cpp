// Rows for operators of one complex operand: elementary functions, and what is spread around means.
#include "models/exported/complex/functions.h"

#include <cmath>
#include <numbers>

#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "models/exported/complex/arithmetic.h"

namespace tilewright::exported {
namespace complex_function_rows {
namespace {

using Function = ComplexTensor (*)(const ComplexTensor& z);
template <Function function>
constexpr auto of_one = [](const Call& c) -> Value { return function(c.complex_tensor("self")); };

ComplexTensor scaled(const ComplexTensor& z, double by) {
  return {z.real() * by, z.imaginary() * by};
}
ComplexTensor square(const ComplexTensor& z) { return product(z, z); }
ComplexTensor inverse_root(const ComplexTensor& z) { return reciprocal(square_root(z)); }
template <int base>
ComplexTensor logarithm_to(const ComplexTensor& z) {
  return scaled(logarithm(z), 1 / std::log(static_cast<double>(base)));
}
ComplexTensor power_of_two(const ComplexTensor& z) {
  return exponential(scaled(z, std::numbers::ln2));
}
ComplexTensor weighted_by_sigmoid(const ComplexTensor& z) { return product(z, sigmoid(z)); }
// sin(pi z) / (pi z), 1 of 0.
ComplexTensor sine_quotient(const ComplexTensor& z) {
  const ComplexTensor angle = scaled(z, std::numbers::pi), y = quotient(sine(angle), angle);
  const Tensor is_zero = magnitude(z) == 0.0;
  return {where(is_zero, 1.0, y.real()), where(is_zero, 0.0, y.imaginary())};
}

// Around the mean, of both parts together.
struct Spread {
  explicit Spread(const Call& call) : z(call.complex_tensor("self")) {
    const double correction =
        call.has("unbiased") ? call.flag("unbiased", true) : call.number("correction", 1);
    axes = call.axes("dim");
    keeps = call.flag("keepdim", false);
    variance = var(z.real(), axes, correction, keeps) + var(z.imaginary(), axes, correction, keeps);
  }
  ComplexTensor centre() const {
    return {mean(z.real(), axes, keeps), mean(z.imaginary(), axes, keeps)};
  }
  ComplexTensor z;
  std::vector<int> axes;
  bool keeps;
  Tensor variance;
};
Tensor variance(const Call& call) { return Spread(call).variance; }
Tensor deviation(const Call& call) { return sqrt(Spread(call).variance); }
Results variance_and_mean(const Call& call) {
  const Spread spread(call);
  return {spread.variance, spread.centre()};
}
Results deviation_and_mean(const Call& call) {
  const Spread spread(call);
  return {sqrt(spread.variance), spread.centre()};
}

constexpr Operator rows[] = {
    {"aten.acos.default", of_one<inverse_cosine>},
    {"aten.acosh.default", of_one<inverse_hyperbolic_cosine>},
    {"aten.asin.default", of_one<inverse_sine>},
    {"aten.asinh.default", of_one<inverse_hyperbolic_sine>},
    {"aten.atan.default", of_one<inverse_tangent>},
    {"aten.atanh.default", of_one<inverse_hyperbolic_tangent>},
    {"aten.cos.default", of_one<cosine>},
    {"aten.cosh.default", of_one<hyperbolic_cosine>},
    {"aten.exp.default", of_one<exponential>},
    {"aten.exp2.default", of_one<power_of_two>},
    {"aten.expm1.default", of_one<exponential_less_one>},
    {"aten.log.default", of_one<logarithm>},
    {"aten.log10.default", of_one<logarithm_to<10>>},
    {"aten.log1p.default", of_one<logarithm_of_one_plus>},
    {"aten.log2.default", of_one<logarithm_to<2>>},
    {"aten.reciprocal.default", of_one<reciprocal>},
    {"aten.rsqrt.default", of_one<inverse_root>},
    {"aten.sgn.default", of_one<direction>},
    {"aten.sigmoid.default", of_one<sigmoid>},
    {"aten.silu.default", of_one<weighted_by_sigmoid>},
    {"aten.sin.default", of_one<sine>},
    {"aten.sinc.default", of_one<sine_quotient>},
    {"aten.sinh.default", of_one<hyperbolic_sine>},
    {"aten.sqrt.default", of_one<square_root>},
    {"aten.square.default", of_one<square>},
    {"aten.std.correction", by<deviation>},
    {"aten.std.default", by<deviation>},
    {"aten.std.dim", by<deviation>},
    {"aten.std_mean.correction", by<deviation_and_mean>},
    {"aten.std_mean.default", by<deviation_and_mean>},
    {"aten.std_mean.dim", by<deviation_and_mean>},
    {"aten.tan.default", of_one<tangent>},
    {"aten.tanh.default", of_one<hyperbolic_tangent>},
    {"aten.var.correction", by<variance>},
    {"aten.var.default", by<variance>},
    {"aten.var.dim", by<variance>},
    {"aten.var_mean.correction", by<variance_and_mean>},
    {"aten.var_mean.default", by<variance_and_mean>},
    {"aten.var_mean.dim", by<variance_and_mean>},
};

}  // namespace
}  // namespace complex_function_rows

std::span<const Operator> complex_function_operators() { return complex_function_rows::rows; }

}  // namespace tilewright::exported
